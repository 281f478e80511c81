"""Errors of the protocol itself, and the one place that renders any error as AWS's JSON.

::

    InvalidInput
    ├── UnknownOperation      an unknown target                      400
    └── InvalidShape          a member breaks the model's rules      400
        └── MemberNotServed   a member that has no effect here       400

Errors that all APIs share are in :mod:`penstock.api.errors`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from penstock.durable import full_disk
from penstock.errors import InternalError, InvalidInput, PenstockError

__all__ = [
    "InvalidShape",
    "MemberNotServed",
    "RenderedError",
    "UnknownOperation",
    "render",
]

_log = logging.getLogger("penstock.server")


class UnknownOperation(InvalidInput):
    """No service has the operation in X-Amz-Target."""

    aws_code = "UnknownOperationException"


class InvalidShape(InvalidInput):
    """Members break the model's rules (required, length, range, pattern, enumeration); the message lists all of them."""

    aws_code = "ValidationException"


class MemberNotServed(InvalidShape):
    """A member of the model that Penstock does not act on: if it was ignored, it would seem to take effect."""


@dataclass(frozen=True, slots=True)
class RenderedError:
    """The bytes of an error's answer."""

    status: int
    code: str
    body: bytes
    message: str = ""


def render(
    error: BaseException, *, request_id: str, renamed: Mapping[type[PenstockError], str], message_keys: Mapping[str, str]
) -> RenderedError:
    """Return the answer for ``error``.

    ``renamed`` has the service's own codes for classes of the tree, looked up along the class's MRO; ``message_keys`` is how
    the service's modelled errors spell ``Message``. An exception that is not a :class:`PenstockError` is a defect: it is
    logged with its traceback, and the caller gets the request id.
    """
    error = full_disk(error) or error
    if not isinstance(error, PenstockError):
        _log.error("request %s failed", request_id, exc_info=error)
        error = InternalError(f"The server failed on request {request_id}.", remedy="Its log has the details.")
    elif error.fault == "server":
        _log.error("request %s failed: %s", request_id, error, exc_info=error)
    code = error.aws_code
    for ancestor in type(error).__mro__:
        if ancestor in renamed:
            code = renamed[ancestor]
            break
        if "aws_code" in ancestor.__dict__:
            break
    body = orjson.dumps({"__type": code, message_keys.get(code, "message"): str(error), **error.members})
    return RenderedError(error.http_status, code, body, str(error))
