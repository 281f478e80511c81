"""Why no schema can be derived from some data::

    CannotDerive (DataProblem)
    ├── UnknownKind    a value that no type stands for: a set, a number of more than 64 bits, a key that is no name
    ├── TypeConflict   data of two kinds at one place, or of another kind than the registered schema has there
    └── TooManyFields  more fields than a schema is for: keys that are data themselves

``path`` is where: ``/legs/items/carrier`` as refusals of the registry write it.
"""

from penstock.errors import DataProblem

__all__ = ["CannotDerive", "TooManyFields", "TypeConflict", "UnknownKind"]


class CannotDerive(DataProblem):
    """No schema can be derived from the data; nothing was registered. ``path`` says where it went wrong."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        super().__init__(f"At {path or '/'}: {message}", remedy=remedy)
        self.path = path or "/"


class UnknownKind(CannotDerive):
    """A value that has no counterpart in the schema's format."""


class TypeConflict(CannotDerive):
    """Two kinds of data at one place, which no type of both would keep as they are."""


class TooManyFields(CannotDerive):
    """The data has more fields than a schema may have."""
