"""The errors of statements, with Athena's codes.

A refused request raises :class:`InvalidRequest`, :class:`TooManyRequests` or :class:`MetadataProblem`. A statement that
was accepted and then fails has a :class:`StatementError`, rendered as ``CODE: line 1:15: message``.
Codes and numbers: Athena user guide, "Athena error catalog".
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from penstock.errors import InternalError, InvalidInput, LimitExceeded, NotFound, PenstockError
from penstock.statements.model import StatementFailure

__all__ = [
    "CannotRun",
    "GaveWay",
    "Interrupted",
    "InvalidRequest",
    "MetadataProblem",
    "Position",
    "StatementCancelled",
    "StatementError",
    "TooManyRequests",
    "memory_exceeded",
    "without_paths",
]

_SYSTEM, _USER, _OTHER = 1, 2, 3
_CODE = Path(__file__).resolve().parents[2]  # where this package is

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


class TooManyRequests(LimitExceeded):
    """The queue of statements is full."""

    aws_code = "TooManyRequestsException"

    @property
    def members(self) -> Mapping[str, str]:
        """Members of the error's shape beside its message."""
        return {"Reason": "CONCURRENT_QUERY_LIMIT_EXCEEDED"}


class CannotRun(InternalError):
    """The server cannot start a process to run statements in."""

    aws_code = "InternalServerException"


class MetadataProblem(NotFound):
    """A database, table or catalog in a request for Athena's metadata operations does not exist."""

    aws_code = "MetadataException"


class StatementCancelled(PenstockError):
    """A user stopped the statement; this is not a failure."""


class Interrupted(Exception):
    """The statement was stopped from outside; ``Run.reason`` says why."""


class GaveWay(Exception):
    """The statement's process was ended in favour of other statements; it is to be run again."""


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


def memory_exceeded() -> StatementError:
    """Return the error of a statement that needed more memory than its limit."""
    return StatementError(
        "EXCEEDED_MEMORY_LIMIT",
        "The query needs more memory than the limit of a query.",
        remedy="Read fewer partitions or columns, aggregate before joining, or raise the server's limit.",
    )


def without_paths(text: str, lake: Path) -> str:
    """Return the text of an error without names of this machine's folders: ``s3://`` names for what is in ``lake``.

    Of other files of the server's, its interpreter's and its temporary folder the last name is left.
    """
    for root in sorted({str(lake), str(lake.resolve())}, key=len, reverse=True):
        text = re.sub(rf"(?:file:(?://)?)?{re.escape(root)}(?:/|(?=['\"\s]|$))", "s3://", text)
    own = (lake.parent, lake.resolve().parent, Path(tempfile.gettempdir()), Path(sys.prefix), Path(sys.base_prefix))
    for folder in sorted({str(each) for each in (*own, _CODE) if len(each.parts) > 1}, key=len, reverse=True):
        text = re.sub(rf"(?:file:(?://)?)?{re.escape(folder)}/(?:[^\s'\":/]+/)*([^\s'\"/]*)", r"\1", text)
    return text
