"""Errors of authentication and authorization, with AWS's codes and words.

::

    AccessDenied
    ├── MissingAuthentication     no signature
    ├── IncompleteSignature       a signature that lacks a part or cannot be read
    ├── UnrecognizedClient        an unknown access key or session token
    ├── ExpiredToken              an expired temporary credential
    ├── NotAuthorized             an authenticated caller who may not do this
    └── InvalidSignature          a wrong signature, scope, clock or payload
"""

from penstock.errors import AccessDenied

__all__ = [
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidSignature",
    "MissingAuthentication",
    "NotAuthorized",
    "UnrecognizedClient",
]


class MissingAuthentication(AccessDenied):
    """The request has no signature."""

    aws_code = "MissingAuthenticationTokenException"


class IncompleteSignature(AccessDenied):
    """The signature lacks a part, or cannot be read."""

    aws_code = "IncompleteSignatureException"


class UnrecognizedClient(AccessDenied):
    """The access key or the session token is unknown to this server."""

    aws_code = "UnrecognizedClientException"


class ExpiredToken(AccessDenied):
    """The temporary credential is not valid any more."""

    aws_code = "ExpiredTokenException"


class NotAuthorized(AccessDenied):
    """Policies do not allow the caller's request; the message has AWS's words."""

    aws_code = "AccessDeniedException"


class InvalidSignature(AccessDenied):
    """The signature does not match the request: wrong key, scope, clock or payload."""

    aws_code = "InvalidSignatureException"
