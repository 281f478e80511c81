"""The errors of definitions: an invalid schema, an unsupported format, a schema without table columns, and so on."""

from penstock.errors import InvalidInput

__all__ = ["FormatNotServed", "InvalidSchema", "NoColumns", "NotSelfContained", "TooComplex"]


class InvalidSchema(InvalidInput):
    """A definition that is not a valid schema of its format. ``path`` is the fault's path, as in ``/fields/2/default``."""

    def __init__(self, message: str, *, path: str = "", remedy: str | None = None) -> None:
        super().__init__(f"At {path}: {message}" if path else message, remedy=remedy)
        self.path = path


class FormatNotServed(InvalidInput):
    """A data format that AWS supports and Penstock does not."""


class NoColumns(InvalidInput):
    """A valid schema that cannot be represented as table columns."""


class NotSelfContained(InvalidInput):
    """A definition that cannot be joined with the definitions it refers to into one text."""


class TooComplex(InvalidInput):
    """Two schemas whose comparison would take too long."""
