"""A reason why a reader schema cannot read data of a writer schema."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Incompatibility"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incompatibility:
    """A rule of schema resolution that a reader schema breaks, and where.

    ``path`` leads to the field, with a slash before each step (``/legs/items/carrier``; ``/`` is the whole schema; ``items``
    and ``values`` step into arrays and maps). ``rule`` is a short constant, for Avro a name of its ``SchemaCompatibility``:
    READER_FIELD_MISSING_DEFAULT_VALUE, TYPE_MISMATCH, NAME_MISMATCH, FIXED_SIZE_MISMATCH, MISSING_ENUM_SYMBOLS,
    MISSING_UNION_BRANCH. ``reader`` and ``writer`` are the two sides as text. ``message`` explains the finding and how to
    make the schemas compatible.
    """

    path: str
    rule: str
    reader: str
    writer: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON; :meth:`from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Incompatibility":
        """Return the value that :meth:`to_json` wrote."""
        return cls(**value)

    def __str__(self) -> str:
        return f"{self.rule} at {self.path}: {self.message}"
