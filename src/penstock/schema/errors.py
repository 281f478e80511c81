"""The errors of the schema rows: a definition that is no valid schema, a format not served yet, and the like."""

from penstock.errors import InvalidInput

__all__ = ["FormatNotServed", "InvalidSchema", "NoColumns", "NotSelfContained", "TooComplex"]


class InvalidSchema(InvalidInput):
    """A definition that is not a valid schema of its format. ``path`` is where, as in ``/fields/2/default``."""

    def __init__(self, message: str, *, path: str = "", remedy: str | None = None) -> None:
        super().__init__(f"At {path}: {message}" if path else message, remedy=remedy)
        self.path = path


class FormatNotServed(InvalidInput):
    """A data format that AWS has and Penstock does not read yet."""


class NoColumns(InvalidInput):
    """A valid schema that has no counterpart as table columns."""


class NotSelfContained(InvalidInput):
    """A definition that cannot be one text with those it refers to."""


class TooComplex(InvalidInput):
    """Two schemas whose comparison would take unreasonably long."""
