"""Errors between a source, a function and a destination."""

from penstock.errors import EnvironmentProblem, InvalidInput

__all__ = ["DestinationUnavailable", "InvalidPattern"]


class InvalidPattern(InvalidInput):
    """A filter pattern that Lambda would refuse."""

    aws_code = "InvalidParameterValueException"


class DestinationUnavailable(EnvironmentProblem):
    """Discarded records could not be stored; they stay uncommitted, and storing them is retried."""
