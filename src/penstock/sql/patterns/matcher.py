"""Finds the matches of a row pattern in one partition, in Trino's order of preference.

Source: Trino's documentation, "MATCH_RECOGNIZE", and its tests (TestRowPatternMatching): a match attempt tries the preferred
branch first; a state of the program that was reached at a row before, with all that conditions can see equal, is left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.sql.functions.python import invalid

__all__ = ["History", "Match", "Matcher", "Path", "Place"]

_MAX_STEPS = 5_000_000
_STEPS_PER_ROW = 200
_MAX_SEEN = 1_000_000

Condition = Callable[[Any], Any]


class Place(NamedTuple):
    """Where a value is: see :class:`penstock.sql.patterns.navigation.Navigation`; ``labels`` are numbers."""

    labels: frozenset[int]
    first: bool
    logical: int
    physical: int
    final: bool


class Path(NamedTuple):
    """A matched row and, by ``before``, those that were matched before it."""

    before: "Path | None"
    row: int
    label: int
    hidden: bool
    history: Any


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the variables of its rows from ``start``, and which of them are left out of the output."""

    start: int
    labels: Sequence[int]
    hidden: Sequence[bool]


class History:
    """What conditions see of the match so far; this one sees nothing but the row."""

    empty: Any = ()
    conditions: Sequence[Condition | None] = ()
    """Of each variable; None is always true."""

    def extended(self, history: Any, row: int, label: int) -> Any:  # noqa: ARG002 a subclass uses them
        """Return the history after ``row`` was matched to ``label``; equal histories make all later conditions equal."""
        return history

    def holds(self, row: int, label: int, path: Path) -> bool:
        """Return whether ``row``, the last one of ``path``, may be matched to ``label``."""
        raise NotImplementedError


class Matcher:
    """A program over the rows of one partition."""

    def __init__(self, program: Sequence[Sequence[Any]], count: int, history: History) -> None:
        self._program = program
        self._count = count
        self._history = history
        self._seen: set[Any] = set()
        self._steps = _MAX_STEPS + _STEPS_PER_ROW * count

    def forget(self) -> None:
        """Forget which states were tried: after a match they may be on the way to another one."""
        self._seen = set()

    def match(self, start: int) -> Match | None:
        """Return the preferred match from row ``start``, None if there is none. Raises ValueError beyond the bound."""
        if len(self._seen) > _MAX_SEEN:
            self.forget()
        stack: list[tuple[int, int, Path | None]] = [(0, start, None)]
        while stack:
            at, row, path = stack.pop()
            result = self._run(at, row, path, stack)
            if result is not None:
                self.forget()
                return _match(start, result[0])
        return None

    def _run(
        self, at: int, row: int, path: Path | None, stack: list[tuple[int, int, Path | None]]
    ) -> tuple[Path | None] | None:
        """Follow one thread; branches that are not preferred go to ``stack``. Return its path if it matches."""
        program, count, history = self._program, self._count, self._history
        while True:
            instruction = program[at]
            operation = instruction[0]
            if operation in {"split", "label"} and not self._is_new(at, row, path):
                return None
            if operation == "label":
                label = instruction[1]
                before = path.history if path is not None else history.empty
                path = Path(path, row, label, instruction[2], history.extended(before, row, label)) if row < count else None
                if path is None or not history.holds(row, label, path):
                    return None
                row += 1
                at += 1
            elif operation == "split":
                stack.append((instruction[2], row, path))
                at = instruction[1]
            elif operation == "jump":
                at = instruction[1]
            elif operation == "done":
                return (path,)
            elif (row == 0) if operation == "start" else (row == count):
                at += 1
            else:
                return None

    def _is_new(self, at: int, row: int, path: Path | None) -> bool:
        """Count a step, and return whether its state was not reached before."""
        state = (at, row, path.history if path is not None else self._history.empty)
        if state in self._seen:
            return False
        self._seen.add(state)
        self._steps -= 1
        if self._steps < 0:
            raise invalid(
                "The row pattern needs more steps than the limit of a partition. Write conditions that tell variables apart,"
                " or use smaller partitions",
                "EXCEEDED_CPU_LIMIT",
            )
        return True


def _match(start: int, path: Path | None) -> Match:
    labels, hidden = [], []
    for backward in _backwards(path):
        labels.append(backward.label)
        hidden.append(backward.hidden)
    return Match(start, labels[::-1], hidden[::-1])


def _backwards(path: Path | None) -> Iterator[Path]:
    while path is not None:
        yield path
        path = path.before
