"""Errors of Iceberg's documents.

::

    InvalidInput
    ├── BadDocument          400 a schema, update or document that Iceberg's specification does not allow
    └── NotSupported         406 a format version, type or update that this catalog does not support
    ConcurrentModification
    └── RequirementFailed    409 a requirement of a commit does not hold (any more)
"""

from penstock.errors import ConcurrentModification, InvalidInput

__all__ = ["BadDocument", "NotSupported", "RequirementFailed"]


class BadDocument(InvalidInput):
    """A schema, an update or a whole document is not as Iceberg's specification requires."""


class NotSupported(InvalidInput):
    """Iceberg has this, and this catalog does not support it."""

    http_status = 406


class RequirementFailed(ConcurrentModification):
    """A requirement of a commit does not hold: the table or view was changed after the client read it."""

    http_status = 409
