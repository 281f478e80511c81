"""Errors of requests that all APIs share; each API renders them in its own form.

::

    InvalidInput
    ├── UnreadableRequest     not JSON, or a value of the wrong type   400
    └── RequestTooLarge       more bytes than the server accepts       413
    LimitExceeded
    ├── Throttled             more requests than the server accepts
    └── Overloaded            more bytes in flight than the server accepts   503
"""

import logging

from penstock.access.audit.log import AuditUnavailable
from penstock.errors import InvalidInput, LimitExceeded, PenstockError

__all__ = ["Overloaded", "RequestTooLarge", "Throttled", "UnreadableRequest", "logged_message"]

_log = logging.getLogger("penstock.server")


class UnreadableRequest(InvalidInput):
    """The body is not JSON, or a value does not have the JSON type of the model."""

    aws_code = "SerializationException"


class RequestTooLarge(InvalidInput):
    """The body has more bytes than the server accepts."""

    aws_code = "RequestEntityTooLargeException"
    http_status = 413


class Throttled(LimitExceeded):
    """The server does not accept more requests now; clients back off and retry."""

    aws_code = "ThrottlingException"


class Overloaded(LimitExceeded):
    """No room for the request's body became free in time; clients back off and retry."""

    aws_code = "ServiceUnavailableException"
    http_status = 503


def logged_message(error: BaseException, status: int, request_id: str) -> str:
    """Return what the client is told of ``error``; the log has the details of the server's own errors."""
    if not isinstance(error, PenstockError):
        _log.error("request %s failed", request_id, exc_info=error)
        return f"The server failed on request {request_id}. Its log has the details."
    if status >= 500 and not isinstance(error, Overloaded | AuditUnavailable):
        _log.error("request %s failed: %s", request_id, error, exc_info=error)
    return str(error)
