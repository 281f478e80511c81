"""The errors of a statement's text, with Athena's codes.

A refused request raises :class:`InvalidRequest`. A statement that was accepted and then fails has a :class:`StatementError`,
rendered as ``CODE: line 1:15: message``. Codes and numbers: Athena user guide, "Athena error catalog".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from penstock.errors import InvalidInput, PenstockError
from penstock.statements.model import StatementFailure

__all__ = ["InvalidRequest", "Position", "StatementError"]

_SYSTEM, _USER, _OTHER = 1, 2, 3

# Code -> (category, type, retryable); 1xxx are errors of users, 2xx of the engine, 4xx of the catalog.
_KINDS: Mapping[str, tuple[int, int, bool]] = {
    "EXCEEDED_MEMORY_LIMIT": (_USER, 1, False),
    "EXCEEDED_TIME_LIMIT": (_USER, 2, False),
    "EXCEEDED_SPILL_LIMIT": (_USER, 1, False),
    "EXCEEDED_RESULT_LIMIT": (_USER, 1, False),
    "EXCEEDED_PARTITION_LIMIT": (_USER, 1, False),
    "GENERIC_INTERNAL_ERROR": (_SYSTEM, 0, True),
    "SERVER_RESTARTED": (_SYSTEM, 0, True),
    "HIVE_CANNOT_OPEN_SPLIT": (_OTHER, 233, True),
    "HIVE_BAD_DATA": (_USER, 401, False),
    "HIVE_INVALID_METADATA": (_USER, 1106, False),
    "HIVE_INVALID_PARTITION_VALUE": (_USER, 1106, False),
    "HIVE_UNSUPPORTED_FORMAT": (_USER, 1106, False),
    "SYNTAX_ERROR": (_USER, 1006, False),
    "TABLE_NOT_FOUND": (_USER, 1003, False),
    "SCHEMA_NOT_FOUND": (_USER, 1301, False),
}
_DEFAULT_KIND = (_USER, 1006, False)


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the SQL text: line and column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}:{self.column}"


class InvalidRequest(InvalidInput):
    """A request that Athena's API refuses; ``athena_code`` becomes the error's AthenaErrorCode member."""

    aws_code = "InvalidRequestException"

    def __init__(self, message: str, *, remedy: str | None = None, athena_code: str = "INVALID_INPUT") -> None:
        super().__init__(message, remedy=remedy)
        self.athena_code = athena_code

    @property
    def members(self) -> Mapping[str, str]:
        """Members of the error's shape beside its message."""
        return {"AthenaErrorCode": self.athena_code}


class StatementError(PenstockError):
    """Why a statement failed: Athena's ``code``, the position in the SQL if known, and what to do."""

    aws_code = "InvalidRequestException"
    http_status = 400
    fault: ClassVar[Literal["client", "server"]] = "client"

    def __init__(self, code: str, message: str, *, position: Position | None = None, remedy: str | None = None) -> None:
        where = f"{position}: " if position is not None else ""
        super().__init__(f"{code}: {where}{message}", remedy=remedy)
        self.code = code
        self.position = position

    def failure(self) -> StatementFailure:
        """Return the value that is stored with the statement."""
        category, number, retryable = _KINDS.get(self.code, _DEFAULT_KIND)
        return StatementFailure(message=str(self), category=category, type=number, retryable=retryable)
