"""The tree of coded errors.

Every error that users see derives from :class:`PenstockError`::

    PenstockError
    ├── InvalidInput            bad request, bad argument, bad file            400, exit 2
    │   └── OperationNotServed  AWS has the operation, this server does not yet 400
    ├── NotFound                the named thing does not exist                 400
    ├── AlreadyExists           the name is taken                              400
    ├── ConcurrentModification  another client changed it first                400
    ├── LimitExceeded           a count, size or rate limit is reached         400
    ├── AccessDenied            the signature or the permission is wrong       400/403
    ├── EnvironmentProblem      missing Java, taken port, dead broker          exit 3
    │   └── StorageFull         a disk is full, or accepts no writes           503
    ├── DataProblem             missing or wrong records, drift, bad payload   exit 4
    └── InternalError           a defect of Penstock                           500

Packages subclass these where AWS has a code of its own for the case; each class carries the AWS code, HTTP status and
fault side, and ``penstock.api`` looks the class up once. A message says what happened, to what, and what to do.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "ConcurrentModification",
    "DataProblem",
    "EnvironmentProblem",
    "InternalError",
    "InvalidInput",
    "LimitExceeded",
    "NotFound",
    "OperationNotServed",
    "PenstockError",
    "StorageFull",
]


class PenstockError(Exception):
    """An error with a code, shown to users without a traceback.

    ``aws_code`` is the ``__type`` that AWS clients match on, with ``http_status``; ``exit_code`` is the command line's.
    ``remedy`` is a sentence of its own, which says what the reader can do.
    """

    aws_code: ClassVar[str] = "InternalServiceException"
    http_status: ClassVar[int] = 500
    fault: ClassVar[Literal["client", "server"]] = "server"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def members(self) -> Mapping[str, str]:
        """Members of the AWS error's shape beside its message, such as Athena's ``AthenaErrorCode``."""
        return {}

    def __str__(self) -> str:
        if not self.remedy:
            return self.message
        # AWS's own texts, which clients match on, have no full stop.
        stop = "" if self.message.endswith((".", "!", "?", ":", "\n")) else "."
        return f"{self.message}{stop} {self.remedy}"


class InvalidInput(PenstockError):
    """The request, argument or file is wrong; a retry of the same cannot help."""

    aws_code = "InvalidInputException"
    http_status = 400
    fault = "client"
    exit_code = 2


class OperationNotServed(InvalidInput):
    """AWS has this operation, and Penstock does not support it yet."""

    aws_code = "UnknownOperationException"


class NotFound(PenstockError):
    """The named thing does not exist."""

    aws_code = "EntityNotFoundException"
    http_status = 400
    fault = "client"


class AlreadyExists(PenstockError):
    """The name is taken."""

    aws_code = "AlreadyExistsException"
    http_status = 400
    fault = "client"


class ConcurrentModification(PenstockError):
    """A precondition (version id, lease) no longer holds: read again and retry."""

    aws_code = "ConcurrentModificationException"
    http_status = 400
    fault = "client"


class LimitExceeded(PenstockError):
    """A count, size or rate limit is reached."""

    aws_code = "ResourceNumberLimitExceededException"
    http_status = 400
    fault = "client"


class AccessDenied(PenstockError):
    """The caller's authentication failed, or the caller is not authorized."""

    aws_code = "AccessDeniedException"
    http_status = 400
    fault = "client"


class EnvironmentProblem(PenstockError):
    """The machine lacks something: Java, a free port, a reachable broker, disk space."""

    exit_code = 3


class StorageFull(EnvironmentProblem):
    """A disk is full, or does not accept writes: nothing was changed, and a later retry may succeed."""

    http_status = 503


class DataProblem(PenstockError):
    """Missing or wrong records: a failed reconciliation, a drift, a payload that cannot be read."""

    aws_code = "InvalidInputException"
    http_status = 400
    fault = "client"
    exit_code = 4


class InternalError(PenstockError):
    """A defect of Penstock; the log has the details, the caller gets the request id."""
