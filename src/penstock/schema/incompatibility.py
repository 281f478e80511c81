"""One reason why a reader's schema cannot read data of a writer's: the value behind every refusal's text."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Incompatibility"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incompatibility:
    """Where a reader schema breaks which rule of schema resolution.

    ``path`` leads to the field, slash before each step (``/legs/items/carrier``; ``/`` is the whole schema; ``items`` and
    ``values`` step into arrays and maps). ``rule`` is a short constant, for Avro the names of its ``SchemaCompatibility``:
    READER_FIELD_MISSING_DEFAULT_VALUE, TYPE_MISMATCH, NAME_MISMATCH, FIXED_SIZE_MISMATCH, MISSING_ENUM_SYMBOLS,
    MISSING_UNION_BRANCH. ``reader`` and ``writer`` are the two sides as text; ``message`` is a sentence that also says what
    would make it compatible.
    """

    path: str
    rule: str
    reader: str
    writer: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """The value as JSON keeps it; :meth:`from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Incompatibility":
        """The value that :meth:`to_json` wrote."""
        return cls(**value)

    def __str__(self) -> str:
        return f"{self.rule} at {self.path}: {self.message}"
