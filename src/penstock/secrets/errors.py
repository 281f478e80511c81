"""The errors of Secrets Manager, with AWS's codes.

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
    """The secret, or its version, does not exist."""

    aws_code = "ResourceNotFoundException"


class SecretExists(AlreadyExists):
    """The name, or the request token, is taken."""

    aws_code = "ResourceExistsException"


class InvalidSecretParameter(InvalidInput):
    """A parameter is invalid."""

    aws_code = "InvalidParameterException"


class InvalidSecretName(InvalidInput):
    """A name with characters that names may not have."""

    aws_code = "ValidationException"


class InvalidSecretRequest(InvalidInput):
    """The request does not fit the state of the secret."""

    aws_code = "InvalidRequestException"


class InvalidSecretToken(InvalidInput):
    """A NextToken that this server did not return."""

    aws_code = "InvalidNextTokenException"


class SecretLimitExceeded(LimitExceeded):
    """The secret has reached its limit of labels, versions or tags."""

    aws_code = "LimitExceededException"


class SecretChanged(ConcurrentModification):
    """The secret was changed after it was read; the service reads it again and retries."""

    aws_code = "InternalServiceError"
