"""Errors of requests that all APIs share; each API renders them in its own form.

::

    InvalidInput
    ├── UnreadableRequest     not JSON, or a value of another type   400
    └── RequestTooLarge       more bytes than the server takes       413
    LimitExceeded
    ├── Throttled             more requests in flight than the server takes
    └── Overloaded            more bytes in flight than the server takes   503
"""

from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["Overloaded", "RequestTooLarge", "Throttled", "UnreadableRequest"]


class UnreadableRequest(InvalidInput):
    """The body is not JSON, or a value is of another JSON type than the model's."""

    aws_code = "SerializationException"


class RequestTooLarge(InvalidInput):
    """The body has more bytes than the server takes."""

    aws_code = "RequestEntityTooLargeException"
    http_status = 413


class Throttled(LimitExceeded):
    """More requests wait than the server can hold; clients back off and try again."""

    aws_code = "ThrottlingException"


class Overloaded(LimitExceeded):
    """No room for the request's body came free in time; clients back off and try again."""

    aws_code = "ServiceUnavailableException"
    http_status = 503
