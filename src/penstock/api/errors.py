"""Errors of requests that all APIs share; each API renders them in its own form.

::

    InvalidInput
    ├── UnreadableRequest     not JSON, or a value of the wrong type   400
    └── RequestTooLarge       more bytes than the server accepts       413
    LimitExceeded
    ├── Throttled             more requests than the server accepts
    └── Overloaded            more bytes in flight than the server accepts   503
"""

from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["Overloaded", "RequestTooLarge", "Throttled", "UnreadableRequest"]


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
