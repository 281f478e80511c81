"""Which members of a service's requests are served, refused or ignored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Exclusions", "Harmless", "Members", "asks_nothing"]


@dataclass(frozen=True, slots=True)
class Harmless:
    """A member that no handler acts on, and that may be ignored; ``reason`` says why.

    ``values`` are those that may be ignored, None for all values; every other value is rejected.
    """

    reason: str
    values: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Exclusions:
    """The members of a service's requests that no handler reads, by shape.

    ``refused`` has their names, with spaces between them. ``harmless`` has those that may be ignored. ``remedies`` has, by
    the name of a refused member, what to do instead.
    """

    refused: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, Mapping[str, Harmless]] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    def excludes(self, shape: str, member: str) -> bool:
        """Return whether no handler reads the member."""
        return member in self.refused.get(shape, "").split() or member in self.harmless.get(shape, ())


class Members:
    """The members of a service's requests.

    ``known`` has those that botocore's model had when they were recorded, by shape, with spaces between them. Handlers read
    all that ``exclusions`` does not exclude.
    """

    def __init__(self, known: Mapping[str, str], exclusions: Exclusions) -> None:
        self.read: Mapping[str, frozenset[str]] = {
            shape: frozenset(name for name in names.split() if not exclusions.excludes(shape, name))
            for shape, names in known.items()
        }
        self.harmless = exclusions.harmless
        self._remedies = exclusions.remedies

    def serves(self, shape: str, member: str) -> bool:
        """Return whether a handler reads the member."""
        return member in self.read.get(shape, ())

    def permits(self, shape: str, member: str, value: Any) -> bool:
        """Return whether a member that is not served may nevertheless be sent with ``value``."""
        harmless = self.harmless.get(shape, {}).get(member)
        if harmless is not None and (harmless.values is None or (isinstance(value, str) and value in harmless.values)):
            return True
        return asks_nothing(value)

    def remedy(self, member: str) -> str:
        """Return what to do instead of sending the member."""
        return self._remedies.get(member, "Leave it out.")


def asks_nothing(value: Any) -> bool:
    """Return whether a JSON value asks for nothing: false, an empty string, list or map, or structures of these.

    A structure with ``Enabled`` false asks for nothing, whatever its other members are.

    Clients that build whole requests, as Terraform does, send such values for settings that their users did not give.
    """
    if isinstance(value, Mapping):
        return value.get("Enabled") is False or all(asks_nothing(item) for item in value.values())
    return value is None or value is False or value in ("", [])
