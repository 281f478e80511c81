"""Why a caller is refused, in AWS's codes and words.

::

    AccessDenied
    ├── MissingAuthentication     no signature at all
    ├── IncompleteSignature       a signature that lacks a part or cannot be read
    ├── UnrecognizedClient        an unknown access key or session token
    └── InvalidSignature          a wrong signature, scope, clock or payload
"""

from penstock.errors import AccessDenied

__all__ = ["IncompleteSignature", "InvalidSignature", "MissingAuthentication", "UnrecognizedClient"]


class MissingAuthentication(AccessDenied):
    """The request carries no signature."""

    aws_code = "MissingAuthenticationTokenException"


class IncompleteSignature(AccessDenied):
    """The signature lacks a part, or cannot be read."""

    aws_code = "IncompleteSignatureException"


class UnrecognizedClient(AccessDenied):
    """The access key or the session token is not one of ours."""

    aws_code = "UnrecognizedClientException"


class InvalidSignature(AccessDenied):
    """The signature does not fit the request: wrong key, scope, clock or payload."""

    aws_code = "InvalidSignatureException"
