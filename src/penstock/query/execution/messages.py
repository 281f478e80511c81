"""What a statement's process and its owner tell each other.

The owner sends :class:`Parse`, :class:`Execute`, and the replies to what the process asks meanwhile: :class:`Value`,
:class:`Raised` and :class:`HostFailed`. The process sends :class:`Ask` and :class:`Planned`, and at the end an
:class:`Answer`. It may ask for the methods of :class:`penstock.query.ports.StatementHost`, whose signatures declare what
goes over the socket: the arguments in the message, the result in the body of the reply's frame.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import msgspec

from penstock.children.frames import Bounds
from penstock.children.messages import Message, MessageReader
from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, NotFound, PenstockError
from penstock.query.ports import StatementHost
from penstock.query.task import Outcome, Task
from penstock.statements.model import StatementStatistics, StatementType

__all__ = [
    "FROM_CHILD",
    "FROM_OWNER",
    "QUESTIONS",
    "RAISED",
    "Answer",
    "Ask",
    "Defect",
    "Done",
    "Execute",
    "Failed",
    "HostFailed",
    "Limits",
    "Parse",
    "ParsedText",
    "Planned",
    "Raised",
    "Rejected",
    "Value",
]

FROM_OWNER, FROM_CHILD = Bounds(head=(1 << 32) - 1, body=(1 << 32) - 1), Bounds(head=64 << 20)
"""Bytes of messages: the owner is trusted; of the process, the columns of a result and their types are the largest."""

RAISED: Mapping[str, type[PenstockError]] = {
    "missing": NotFound,
    "exists": AlreadyExists,
    "conflict": ConcurrentModification,
    "invalid": InvalidInput,
}
"""The errors of the host that a statement can react to; any other ends it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of resident memory and of allocated data (RLIMIT_DATA), and seconds of processor time."""

    resident: int
    allocated: int
    seconds: float


class Parse(Message, frozen=True):
    """Parse a statement's text."""

    sql: str
    parameters: Sequence[str]
    limits: Limits


class Execute(Message, frozen=True):
    """Run a statement."""

    task: Task
    limits: Limits


class Value(Message, frozen=True):
    """The host's result is in the body."""


class Raised(Message, frozen=True):
    """The host raised an error of :data:`RAISED`."""

    error: str
    message: str
    remedy: str | None


class HostFailed(Message, frozen=True):
    """The host raised another error, which the owner keeps: the statement ends, and its caller gets that error."""


class Ask(Message, frozen=True):
    """Call a method of the host."""

    name: str
    arguments: msgspec.Raw


class Planned(Message, frozen=True):
    """The statement is planned, and begins to be computed."""

    statistics: StatementStatistics


class ParsedText(Message, frozen=True):
    """What parsing tells about a statement's text."""

    type: StatementType
    substatement: str | None
    prepared: str | None = None
    """The name of the prepared statement that EXECUTE runs; then ``type`` is that one's, which is not known here."""
    parameters: Sequence[str] = ()
    """The values that EXECUTE gives it."""
    immediate: str | None = None
    """The text that EXECUTE IMMEDIATE runs."""


class Rejected(Message, frozen=True):
    """The text is refused."""

    message: str
    remedy: str | None
    code: str


class Done(Message, frozen=True):
    """The statement is done; its rows are in its folder."""

    outcome: Outcome


class Failed(Message, frozen=True):
    """The statement failed, with Trino's code."""

    code: str
    message: str
    remedy: str | None


class Defect(Message, frozen=True):
    """An unexpected exception, which is a defect of ours, with its traceback for the owner's log."""

    name: str
    trace: str


class Answer(Message, frozen=True):
    """The end of a statement: its result, and what it cost the process.

    ``peak`` is the most memory that the process has used (in KB on Linux).
    One that is ``exhausted`` runs no other statement.
    """

    result: ParsedText | Rejected | Done | Failed | Defect | HostFailed
    peak: int
    exhausted: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A method of the host: how its arguments are read, and its result."""

    arguments: MessageReader[Sequence[Any]]
    result: MessageReader[Any]


def _question(method: Any) -> Question:
    types = get_type_hints(method)
    result = types.pop("return")
    arguments = tuple(types.values())
    return Question(MessageReader(tuple[arguments]), MessageReader(result, most=None))  # type: ignore[valid-type]


QUESTIONS: Mapping[str, Question] = {
    name: _question(method)
    for name, method in inspect.getmembers(StatementHost, inspect.isfunction)
    if not name.startswith("_")
}
"""What a statement's process may ask for."""
