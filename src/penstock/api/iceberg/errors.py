"""Every error as Iceberg's JSON: ``{"error": {"message", "type", "code"}}``, rendered in one place.

::

    NotFound
    ├── NoSuchNamespace, NoSuchTable, NoSuchView   404
    └── UnknownPath                                404 no such resource
    InvalidInput
    ├── WrongMethod         405 the resource has no such method
    └── Unprocessable       422 a property is set and removed at once
    ConcurrentModification
    └── CommitFailed        409 the table or view was changed meanwhile: the client tries again
    AccessDenied
    └── PlainCredentials    403 credentials where others can read them
    PenstockError
    └── CommitStateUnknown  500 whether a commit was made is not known

Source: Iceberg's REST catalog specification, ``ErrorModel`` and the responses of each path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from penstock.access.audit.log import AuditUnavailable
from penstock.access.errors import NotAuthorized
from penstock.api.errors import Overloaded, RequestTooLarge, Throttled, logged_message
from penstock.catalog.errors import DatabaseExists, DatabaseInUse, DatabaseNotFound, TableExists, TableNotFound
from penstock.durable import full_disk
from penstock.errors import (
    AccessDenied,
    AlreadyExists,
    ConcurrentModification,
    EnvironmentProblem,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PenstockError,
)
from penstock.lake.iceberg.errors import BadDocument, NotSupported

__all__ = [
    "CommitFailed",
    "CommitStateUnknown",
    "NoSuchNamespace",
    "NoSuchTable",
    "NoSuchView",
    "PlainCredentials",
    "Rendered",
    "UnknownPath",
    "Unprocessable",
    "WrongMethod",
    "render",
]


class NoSuchNamespace(NotFound):
    """There is no such namespace."""


class NoSuchTable(NotFound):
    """There is no such table, or it is not an Iceberg table."""


class NoSuchView(NotFound):
    """There is no such view."""


class UnknownPath(NotFound):
    """There is no resource at this path."""


class WrongMethod(InvalidInput):
    """The resource does not have the method; ``allowed`` lists the methods that it has."""

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not one of {', '.join(allowed)}, the methods of this resource.")
        self.allowed = allowed


class Unprocessable(InvalidInput):
    """A request contradicts itself."""


class CommitFailed(ConcurrentModification):
    """The table or view was changed meanwhile."""


class PlainCredentials(AccessDenied):
    """A bearer token or a secret on a connection that others can read."""

    def __init__(self) -> None:
        super().__init__("Tokens and secrets are refused without TLS.", remedy="Use https, or sign requests with SigV4.")


class CommitStateUnknown(PenstockError):
    """The commit may have been made or not: its files have to stay."""


# Status and type by class; the nearest ancestor's are used.
_TYPES: dict[type[BaseException], tuple[int, str]] = {
    NoSuchNamespace: (404, "NoSuchNamespaceException"),
    DatabaseNotFound: (404, "NoSuchNamespaceException"),
    NoSuchTable: (404, "NoSuchTableException"),
    TableNotFound: (404, "NoSuchTableException"),
    NoSuchView: (404, "NoSuchViewException"),
    NotFound: (404, "NotFoundException"),
    WrongMethod: (405, "UnsupportedOperationException"),
    NotSupported: (406, "UnsupportedOperationException"),
    AlreadyExists: (409, "AlreadyExistsException"),
    ConcurrentModification: (409, "CommitFailedException"),
    DatabaseInUse: (409, "NamespaceNotEmptyException"),
    RequestTooLarge: (413, "BadRequestException"),
    Unprocessable: (422, "UnprocessableEntityException"),
    PlainCredentials: (403, "ForbiddenException"),
    NotAuthorized: (403, "ForbiddenException"),
    AccessDenied: (401, "NotAuthorizedException"),
    Throttled: (429, "TooManyRequestsException"),
    Overloaded: (503, "SlowDownException"),
    AuditUnavailable: (503, "ServiceUnavailableException"),
    EnvironmentProblem: (503, "ServiceUnavailableException"),
    LimitExceeded: (400, "BadRequestException"),
    InvalidInput: (400, "BadRequestException"),
    # Java's clients raise the exception of this name.
    BadDocument: (400, "IllegalArgumentException"),
    CommitStateUnknown: (500, "CommitStateUnknownException"),
}
_DEFECT = (500, "InternalServerError")
# The catalog's errors in the words of Iceberg's own catalogs, for which its clients' users search.
_WORDS: dict[type[BaseException], str] = {
    DatabaseNotFound: "Namespace does not exist: {}",
    DatabaseExists: "Namespace already exists: {}",
    DatabaseInUse: "Namespace is not empty: {}",
    TableNotFound: "Table does not exist: {}",
    TableExists: "Table already exists: {}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """An answer, and the code for logs and metrics."""

    status: int
    code: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def render(error: BaseException, *, request_id: str) -> Rendered:
    """Return the answer for ``error``."""
    error = full_disk(error) or error
    status, error_type = next((_TYPES[class_] for class_ in type(error).__mro__ if class_ in _TYPES), _DEFECT)
    if isinstance(error, PenstockError) and error_type == _DEFECT[1] and error.http_status < 500:
        status, error_type = error.http_status, "BadRequestException"
    message = logged_message(error, status, request_id)
    words = _WORDS.get(type(error))
    if words is not None:
        message = words.format(getattr(error, "named", ""))
    headers: list[tuple[bytes, bytes]] = []
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="Penstock"'))
    if isinstance(error, WrongMethod):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    if status in {429, 503}:
        headers.append((b"retry-after", b"1"))
    body = orjson.dumps({"error": {"message": message, "type": error_type, "code": status}})
    return Rendered(status=status, code=error_type, body=body, headers=tuple(headers))
