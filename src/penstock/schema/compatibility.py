"""Compatibility modes as pairs of reader and writer, the same for all formats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from penstock.schema.format import ParsedSchema, SchemaFormat
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import GLUE_RULES, CompatibilityRules

__all__ = ["CompatibilityMode", "CompatibilityVerdict", "Conflict", "check", "relevant"]

_MAX_CONFLICTS = 100


class CompatibilityMode(StrEnum):
    """Glue's eight modes."""

    NONE = "NONE"
    DISABLED = "DISABLED"
    BACKWARD = "BACKWARD"
    BACKWARD_ALL = "BACKWARD_ALL"
    FORWARD = "FORWARD"
    FORWARD_ALL = "FORWARD_ALL"
    FULL = "FULL"
    FULL_ALL = "FULL_ALL"

    @property
    def checks_backward(self) -> bool:
        """Whether the new schema must read data of earlier ones."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def checks_forward(self) -> bool:
        """Whether earlier schemas must read data of the new one."""
        return self.value.startswith(("FORWARD", "FULL"))

    @property
    def checks_all(self) -> bool:
        """Whether the new schema is compared with every earlier version, not only the last."""
        return self.value.endswith("_ALL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One incompatibility of a new definition with version ``version``.

    ``direction`` BACKWARD: the new schema cannot read that version's data. FORWARD: that version cannot read the new data.
    """

    version: int
    direction: Literal["BACKWARD", "FORWARD"]
    incompatibility: Incompatibility

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON; :meth:`from_json` reads it back."""
        return {"version": self.version, "direction": self.direction, **self.incompatibility.to_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Conflict":
        """Return the value that :meth:`to_json` wrote."""
        rest = {key: member for key, member in value.items() if key not in {"version", "direction"}}
        return cls(version=value["version"], direction=value["direction"], incompatibility=Incompatibility.from_json(rest))

    def __str__(self) -> str:
        roles = "reading data of version" if self.direction == "BACKWARD" else "read by version"
        return f"{roles} {self.version}: {self.incompatibility}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibilityVerdict:
    """The result of a compatibility check; ``checked`` are the numbers of the versions that it compared with."""

    mode: CompatibilityMode
    checked: tuple[int, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def compatible(self) -> bool:
        """Whether the definition may become a version."""
        return not self.conflicts

    def __str__(self) -> str:
        if self.compatible:
            return f"Compatible under {self.mode}."
        return "\n".join([f"Incompatible under {self.mode}:", *(f"- {conflict}" for conflict in self.conflicts)])


def relevant(mode: CompatibilityMode, numbers: Sequence[int]) -> Sequence[int]:
    """Return those of the usable earlier version ``numbers`` (ascending) that ``mode`` compares with."""
    if not (mode.checks_backward or mode.checks_forward):
        return ()
    return numbers if mode.checks_all else numbers[-1:]


def check(
    data_format: SchemaFormat,
    mode: CompatibilityMode,
    new: ParsedSchema,
    earlier: Sequence[tuple[int, ParsedSchema]],
    rules: CompatibilityRules = GLUE_RULES,
) -> CompatibilityVerdict:
    """Compare ``new`` with those of ``earlier`` (version number and schema, ascending) that the mode selects."""
    selected = set(relevant(mode, [number for number, _ in earlier]))
    compared = [(number, schema) for number, schema in earlier if number in selected]
    conflicts: list[Conflict] = []
    for number, direction, reader, writer in _pairs(mode, new, compared):
        findings = data_format.readable(reader, writer, rules)
        conflicts.extend(Conflict(version=number, direction=direction, incompatibility=item) for item in findings)
        if len(conflicts) >= _MAX_CONFLICTS:
            break
    return CompatibilityVerdict(
        mode=mode, checked=tuple(number for number, _ in compared), conflicts=tuple(conflicts[:_MAX_CONFLICTS])
    )


def _pairs(
    mode: CompatibilityMode, new: ParsedSchema, earlier: Sequence[tuple[int, ParsedSchema]]
) -> Iterator[tuple[int, Literal["BACKWARD", "FORWARD"], ParsedSchema, ParsedSchema]]:
    """Yield version number, direction, reader and writer; the latest version first."""
    for number, schema in reversed(earlier):
        if mode.checks_backward:
            yield number, "BACKWARD", new, schema
        if mode.checks_forward:
            yield number, "FORWARD", schema, new
