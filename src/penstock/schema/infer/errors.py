"""Errors of data from which no schema can be derived::

    CannotDerive (DataProblem)
    ├── UnknownKind    a value without a type: a set, a number of more than 64 bits, a key that is not a name
    ├── TypeConflict   data of two types at one path, or of another type than the registered schema has there
    └── TooManyFields  more fields than a schema may have, usually because keys are data themselves

``path`` has the form of the registry's errors: ``/legs/items/carrier``.
"""

from penstock.errors import DataProblem

__all__ = ["CannotDerive", "TooManyFields", "TypeConflict", "UnknownKind"]


class CannotDerive(DataProblem):
    """No schema can be derived from the data; nothing was registered. ``path`` leads to the fault."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        super().__init__(f"At {path or '/'}: {message}", remedy=remedy)
        self.path = path or "/"


class UnknownKind(CannotDerive):
    """A value that the schema's format cannot represent."""


class TypeConflict(CannotDerive):
    """Two types of data at one path that no single type can hold unchanged."""


class TooManyFields(CannotDerive):
    """The data has more fields than a schema may have."""
