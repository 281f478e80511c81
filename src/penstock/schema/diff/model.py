"""The differences of two schemas as values: changes by path, and the rules that each breaks for readers on either side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.incompatibility import Incompatibility

__all__ = ["Break", "Change", "Changes", "Direction", "SchemaDiff", "broken_modes"]

Direction = Literal["BACKWARD", "FORWARD"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """One rule that is broken. BACKWARD: the new schema cannot read the old one's data; FORWARD: the other way round."""

    direction: Direction
    incompatibility: Incompatibility

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON shows it."""
        return {"direction": self.direction, **self.incompatibility.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One part of a schema that only one side has, or that differs.

    ``path`` is as in :class:`~penstock.schema.incompatibility.Incompatibility`. ``part`` names the part at that path
    (``field``, ``type``, ``default``, ``doc``, ``symbol``, a keyword). ``old`` and ``new`` are the two sides as text, None
    if a side lacks the part. ``inert`` is true if no mode depends on it. ``also`` are its other paths.
    """

    path: str
    part: str
    old: str | None
    new: str | None
    inert: bool = False
    also: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        """The kind of change."""
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON shows it."""
        return {
            "change": self.kind,
            "path": self.path,
            "part": self.part,
            "old": self.old,
            "new": self.new,
            "breaks_modes": [mode.value for mode in broken_modes(self.breaks)],
            "breaks": [item.to_json() for item in self.breaks],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes that a format's walk found. ``same`` maps a path to the one under which its type was compared already."""

    changes: Sequence[Change]
    same: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDiff:
    """All changes from one schema to another. ``elsewhere`` are broken rules that no single change explains."""

    changes: tuple[Change, ...]
    elsewhere: tuple[Break, ...] = ()

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Every broken rule once."""
        return tuple(dict.fromkeys([item for change in self.changes for item in change.breaks] + list(self.elsewhere)))

    def to_json(self) -> dict[str, Any]:
        """Return the differences as JSON; ``compatible_modes`` and ``broken_modes`` are about these two schemas only."""
        broken = broken_modes(self.breaks)
        return {
            "changes": [change.to_json() for change in self.changes],
            "elsewhere": [item.to_json() for item in self.elsewhere],
            "compatible_modes": [mode.value for mode in _comparing() if mode not in broken],
            "broken_modes": [mode.value for mode in broken],
        }


def broken_modes(breaks: Iterable[Break]) -> tuple[CompatibilityMode, ...]:
    """Return the modes that one of ``breaks`` breaks."""
    directions = {item.direction for item in breaks}
    return tuple(
        mode
        for mode in _comparing()
        if ("BACKWARD" in directions and mode.checks_backward) or ("FORWARD" in directions and mode.checks_forward)
    )


def _comparing() -> tuple[CompatibilityMode, ...]:
    """Return the modes that compare versions: NONE accepts every version, DISABLED none."""
    return tuple(mode for mode in CompatibilityMode if mode.checks_backward or mode.checks_forward)
