"""Security configurations: which encryption a job's data have.

Source: Glue API reference, "EncryptionConfiguration". Nothing is encrypted with keys of KMS here, and a setting that
promises it is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.jobs.errors import EntryExists, EntryNotFound, SettingNotServed
from penstock.jobs.store import JobStore, Kind
from penstock.paging import Page, page

__all__ = ["SECURITY", "SecurityConfiguration", "SecurityService"]

_REMEDY = "Use DISABLED, and encrypt the disks of the lake and of the server's home."
_PARTS = {
    "S3Encryption": "S3EncryptionMode",
    "CloudWatchEncryption": "CloudWatchEncryptionMode",
    "JobBookmarksEncryption": "JobBookmarksEncryptionMode",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfiguration:
    """A security configuration; ``encryption`` is Glue's EncryptionConfiguration."""

    name: str
    encryption: Mapping[str, Any]
    created: datetime

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def scope(self) -> str:
        """Security configurations belong to the account."""
        return ""

    @property
    def rank(self) -> str:
        """By name."""
        return self.name

    @property
    def active(self) -> bool:
        """It has nothing to do."""
        return False


SECURITY = Kind("security", SecurityConfiguration)


class SecurityService:
    """The security configurations of an account."""

    def __init__(self, store: JobStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, name: str, encryption: Mapping[str, Any]) -> SecurityConfiguration:
        """Add one. Raises :class:`EntryExists`, and :class:`SettingNotServed` for an encryption that is not done."""
        for part, member in _PARTS.items():
            found = encryption.get(part) or ()
            for each in (found,) if isinstance(found, Mapping) else found:
                if each.get(member, "DISABLED") != "DISABLED":
                    raise SettingNotServed(f"{member} {each[member]} is not served.", remedy=_REMEDY)
        made = SecurityConfiguration(name=name, encryption=encryption, created=self._now())
        if not self._store.add(SECURITY, made):
            raise EntryExists("security configuration", name)
        return made

    def get(self, name: str) -> SecurityConfiguration:
        """Return one. Raises :class:`EntryNotFound`."""
        found = self._store.get(SECURITY, name)
        if found is None:
            raise EntryNotFound("security configuration", name)
        return found

    def page(self, *, limit: int, token: str | None = None) -> Page[SecurityConfiguration]:
        """Return up to ``limit`` of them by name."""

        def read(after: str | None, count: int) -> Sequence[SecurityConfiguration]:
            return self._store.list(SECURITY, "", after=after, limit=count)

        return page("security configurations", token, limit, read, lambda each: each.name, kind=str)

    def delete(self, name: str) -> None:
        """Delete one. Raises :class:`EntryNotFound`."""
        if not self._store.delete(SECURITY, name):
            raise EntryNotFound("security configuration", name)
