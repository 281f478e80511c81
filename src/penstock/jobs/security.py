"""Security configurations: which encryption a job's data have.

Source: Glue API reference, "EncryptionConfiguration". Nothing is encrypted with keys of KMS here, and a setting that
promises it is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.jobs.errors import EntryNotFound, SettingNotServed
from penstock.jobs.named import AccountEntries, NamedEntry
from penstock.jobs.store import JobStore, Kind

__all__ = ["SECURITY", "SecurityConfiguration", "SecurityService"]

_QUOTA = 250  # "Max security configurations per account"
_REMEDY = "Use DISABLED, and encrypt the disks of the lake and of the server's home."
_PARTS = {
    "S3Encryption": "S3EncryptionMode",
    "CloudWatchEncryption": "CloudWatchEncryptionMode",
    "JobBookmarksEncryption": "JobBookmarksEncryptionMode",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfiguration(NamedEntry):
    """A security configuration; ``encryption`` is Glue's EncryptionConfiguration."""

    encryption: Mapping[str, Any]
    created: datetime


SECURITY = Kind("security", SecurityConfiguration)


class SecurityService(AccountEntries[SecurityConfiguration]):
    """The security configurations of an account."""

    def __init__(self, store: JobStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(store, SECURITY, "security configuration", quota=_QUOTA)
        self._now = now

    def create(self, name: str, encryption: Mapping[str, Any]) -> SecurityConfiguration:
        """Add one. Raises :class:`EntryExists`, and :class:`SettingNotServed` for an encryption that is not done."""
        for part, member in _PARTS.items():
            settings = encryption.get(part) or ()
            for setting in (settings,) if isinstance(settings, Mapping) else settings:
                if setting.get(member, "DISABLED") != "DISABLED":
                    raise SettingNotServed(f"{member} {setting[member]} is not served.", remedy=_REMEDY)
        configuration = SecurityConfiguration(name=name, encryption=encryption, created=self._now())
        self._add(configuration)
        return configuration

    def delete(self, name: str) -> None:
        """Delete one. Raises :class:`EntryNotFound`."""
        if not self._store.delete(SECURITY, name):
            raise EntryNotFound("security configuration", name)
