"""How the service refuses, stops and fails statements, beside the errors of their texts (:mod:`penstock.sql.errors`)."""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import InternalError, LimitExceeded, NotFound, PenstockError
from penstock.sql.errors import StatementError

__all__ = [
    "CannotRun",
    "Interrupted",
    "MetadataProblem",
    "Preempted",
    "StatementCancelled",
    "TooManyRequests",
    "memory_exceeded",
    "without_paths",
]

_CODE = Path(__file__).resolve().parents[2]  # where this package is


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


class Preempted(Exception):
    """The statement's process was ended in favour of other statements; it is to be run again."""


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
    for folder in sorted({str(path) for path in (*own, _CODE) if len(path.parts) > 1}, key=len, reverse=True):
        text = re.sub(rf"(?:file:(?://)?)?{re.escape(folder)}/(?:[^\s'\":/]+/)*([^\s'\"/]*)", r"\1", text)
    return text
