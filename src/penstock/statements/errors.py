"""The errors of Athena's resources, with Athena's codes.

Athena has ``ResourceNotFoundException`` for prepared statements and for ARNs, and ``InvalidRequestException`` for all others
(Athena API reference, "Errors" of each operation).
"""

from collections.abc import Mapping
from typing import Self

from penstock.errors import AlreadyExists, InvalidInput, LimitExceeded, NotFound

__all__ = ["InvalidResource", "ResourceExists", "ResourceLimit", "ResourceNotFound", "UnknownName"]

_INVALID = "InvalidRequestException"


class _Coded:
    @property
    def members(self) -> Mapping[str, str]:
        """Members of the error's shape beside its message."""
        return {"AthenaErrorCode": "INVALID_INPUT"}


class InvalidResource(_Coded, InvalidInput):
    """A resource has a value that Athena does not take."""

    aws_code = _INVALID


class ResourceExists(_Coded, AlreadyExists):
    """The name is taken."""

    aws_code = _INVALID


class ResourceLimit(_Coded, LimitExceeded):
    """There are as many resources of this kind as there can be."""

    aws_code = _INVALID

    @classmethod
    def of(cls, kind: str, limit: int) -> Self:
        """Return the error for one more than ``limit`` resources of ``kind``."""
        return cls(f"There are {limit} resources of the kind '{kind}', which is the limit.", remedy="Delete some first.")


class UnknownName(_Coded, NotFound):
    """There is no work group, named query or data catalog of this name."""

    aws_code = _INVALID


class ResourceNotFound(NotFound):
    """There is no prepared statement of this name, or no resource of this ARN."""

    aws_code = "ResourceNotFoundException"
