"""How a service declares which members of requests it serves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["Harmless", "Members", "asks_nothing"]


@dataclass(frozen=True, slots=True)
class Harmless:
    """A member that no handler acts on, and that may be ignored; ``reason`` says why.

    ``values`` are those that may be ignored, None for all values; every other value is rejected.
    """

    reason: str
    values: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Members:
    """The members of a service's requests, by shape.

    ``served`` has the names of the members that handlers read, with spaces between them. ``harmless`` has those that may be
    ignored. ``remedies`` has, by the name of a rejected member, what to do instead.
    """

    served: Mapping[str, str]
    harmless: Mapping[str, Mapping[str, Harmless]] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def read(self) -> Mapping[str, frozenset[str]]:
        """Return the served members as sets, by shape."""
        return {shape: frozenset(names.split()) for shape, names in self.served.items()}

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
        return self.remedies.get(member, "Leave it out.")


def asks_nothing(value: Any) -> bool:
    """Return whether a JSON value asks for nothing: false, an empty string, list or map, or structures of these.

    A structure with ``Enabled`` false asks for nothing, whatever its other members are.

    Clients that build whole requests, as Terraform does, send such values for settings that their users did not give.
    """
    if isinstance(value, Mapping):
        return value.get("Enabled") is False or all(asks_nothing(item) for item in value.values())
    return value is None or value is False or value in ("", [])
