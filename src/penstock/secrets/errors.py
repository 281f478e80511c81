"""Refusals of Secrets Manager, in AWS's codes.

::

    NotFound         SecretNotFound
    AlreadyExists    SecretExists
    InvalidInput     InvalidSecretParameter, InvalidSecretName, InvalidSecretRequest, InvalidSecretToken
    LimitExceeded    SecretLimitExceeded
"""

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound

__all__ = [
    "InvalidSecretName",
    "InvalidSecretParameter",
    "InvalidSecretRequest",
    "InvalidSecretToken",
    "SecretChanged",
    "SecretExists",
    "SecretLimitExceeded",
    "SecretNotFound",
]


class SecretNotFound(NotFound):
    """There is no such secret, or no such version of it."""

    aws_code = "ResourceNotFoundException"


class SecretExists(AlreadyExists):
    """The name, or the request token, is taken."""

    aws_code = "ResourceExistsException"


class InvalidSecretParameter(InvalidInput):
    """A parameter is wrong by itself."""

    aws_code = "InvalidParameterException"


class InvalidSecretName(InvalidInput):
    """A name with characters that names may not have."""

    aws_code = "ValidationException"


class InvalidSecretRequest(InvalidInput):
    """A parameter does not fit the state the secret is in."""

    aws_code = "InvalidRequestException"


class InvalidSecretToken(InvalidInput):
    """A NextToken that this server did not give out."""

    aws_code = "InvalidNextTokenException"


class SecretLimitExceeded(LimitExceeded):
    """More labels, versions or tags than a secret may have."""

    aws_code = "LimitExceededException"


class SecretChanged(ConcurrentModification):
    """Somebody changed the secret since it was read; the service reads again and retries."""

    aws_code = "InternalServiceError"
