"""Every error as Confluent's JSON: ``{"error_code": ..., "message": ...}``, rendered in one place.

::

    InvalidInput
    └── BadRequest       400 a body or parameter that does not have the API's shape
    NotFound
    └── UnknownPath      404 no such resource
    InvalidInput
    ├── UnknownMember    422 a body has a member that the API does not have
    ├── WrongMethod      405 the resource has no such method
    ├── NotAcceptable    406 the Accept header does not accept JSON
    └── WrongMediaType   415 the Content-Type header does not name JSON
    AccessDenied
    ├── Unauthenticated  401 missing or wrong credentials
    └── PlainPassword    403 credentials where others can read them
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from penstock.access.audit.log import AuditUnavailable
from penstock.api.errors import Overloaded, RequestTooLarge, Throttled, UnreadableRequest, logged_message
from penstock.durable import full_disk
from penstock.errors import (
    AccessDenied,
    AlreadyExists,
    ConcurrentModification,
    EnvironmentProblem,
    InvalidInput,
    LimitExceeded,
    NotFound,
)
from penstock.registry.errors import (
    BadReference,
    NumberTaken,
    SchemaIdDiffers,
    SchemaIdTaken,
    VersioningDisabled,
    VersionReferenced,
)
from penstock.registry.subjects.errors import Incompatible
from penstock.schema.compatibility import Conflict
from penstock.schema.errors import FormatNotServed, InvalidSchema, TooComplex

__all__ = [
    "BadRequest",
    "NotAcceptable",
    "PlainPassword",
    "Rendered",
    "Unauthenticated",
    "UnknownMember",
    "UnknownPath",
    "WrongMediaType",
    "WrongMethod",
    "code_of",
    "conflicts_json",
    "render",
]


class BadRequest(InvalidInput):
    """A body or a parameter does not have the API's shape."""

    confluent_code: ClassVar[int] = 400


class UnknownMember(InvalidInput):
    """A body has a member that the API does not have."""

    confluent_code: ClassVar[int] = 422

    def __init__(self, name: str) -> None:
        super().__init__(f"Unrecognized field: {name[:100]}", remedy="Leave it out: it would be ignored.")


class UnknownPath(NotFound):
    """There is no resource at this path."""

    confluent_code: ClassVar[int] = 404


class WrongMethod(InvalidInput):
    """The resource does not have the method; ``allowed`` lists the methods that it has."""

    confluent_code: ClassVar[int] = 405

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__("HTTP 405 Method Not Allowed", remedy=f"{method} is not one of {', '.join(allowed)}.")
        self.allowed = allowed


class WrongMediaType(InvalidInput):
    """The Content-Type header does not name JSON."""

    confluent_code: ClassVar[int] = 415


class NotAcceptable(InvalidInput):
    """The Accept header accepts none of the media types of answers."""

    confluent_code: ClassVar[int] = 406


class Unauthenticated(AccessDenied):
    """The credentials are missing or wrong. The message does not reveal which part is wrong."""

    confluent_code: ClassVar[int] = 401

    def __init__(self) -> None:
        super().__init__(
            "Unauthorized", remedy="Send an access key id and its secret by HTTP Basic authentication: see 'penstock env'."
        )


class PlainPassword(AccessDenied):
    """Basic authentication on a connection that others can read."""

    confluent_code: ClassVar[int] = 403

    def __init__(self) -> None:
        super().__init__(
            "Basic authentication is refused without TLS.",
            remedy="Use https; if a proxy in front of the server has the TLS, start the server with --insecure-basic-auth.",
        )


# The codes of errors that do not belong to this API, by class; the nearest ancestor's is used.
_CODES: dict[type[BaseException], int] = {
    InvalidSchema: 42201,
    BadReference: 42201,
    FormatNotServed: 42201,
    TooComplex: 42201,
    VersioningDisabled: 42205,
    VersionReferenced: 42206,
    SchemaIdTaken: 42205,
    SchemaIdDiffers: 42207,
    NumberTaken: 42205,
    UnreadableRequest: 400,
    RequestTooLarge: 413,
    Throttled: 429,
    Overloaded: 503,
    AuditUnavailable: 503,
    LimitExceeded: 42205,
    ConcurrentModification: 50002,
    AccessDenied: 403,
    NotFound: 404,
    AlreadyExists: 409,
    InvalidInput: 422,
    EnvironmentProblem: 50001,
}
_DEFECT = 50001


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The bytes of an answer, and the code for logs and metrics."""

    status: int
    code: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def code_of(error: BaseException) -> int:
    """Return Confluent's code of the class or of its nearest ancestor; 50001 for errors of the server."""
    for ancestor in type(error).__mro__:
        own = ancestor.__dict__.get("confluent_code", _CODES.get(ancestor))
        if isinstance(own, int):
            return own
    return _DEFECT


def render(error: BaseException, *, request_id: str, extras: bool) -> Rendered:
    """Return the answer for ``error``; ``extras`` allows members that Confluent's error does not have."""
    error = full_disk(error) or error
    code = code_of(error)
    status = code if code < 1_000 else code // 100
    body: dict[str, Any] = {"error_code": code, "message": logged_message(error, status, request_id)}
    if extras and isinstance(error, Incompatible):
        body["incompatibilities"] = conflicts_json(error.verdict.conflicts)
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(error, Unauthenticated):
        headers.append((b"www-authenticate", b'Basic realm="Penstock", charset="UTF-8"'))
    if isinstance(error, WrongMethod):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    if status in {429, 503}:
        headers.append((b"retry-after", b"1"))
    return Rendered(status=status, code=code, body=orjson.dumps(body), headers=tuple(headers))


def conflicts_json(conflicts: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Return incompatibilities as JSON objects: version, direction, path, rule, reader, writer, message."""
    return [conflict.to_json() for conflict in conflicts]
