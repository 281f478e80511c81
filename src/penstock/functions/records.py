"""One record on its way from a source to a function, and the state of a partition's records."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Progress", "Record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as a function gets it.

    ``partition`` is what order holds within (``topic-0``, a shard's id), ``position`` the offset or sequence number in it,
    ``timestamp_ms`` the record's time since 1970. ``entry`` is its JSON in the event, UTF-8; ``view`` what filters see.
    ``key`` is the partition key.
    """

    partition: str
    position: int
    timestamp_ms: int
    key: bytes | None
    entry: bytes
    view: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)


class Progress:
    """How far the records of one partition are done, whatever the order in which that came about."""

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._done: set[int] = set()
        self.last: int | None = None
        """The last position that was begun."""

    def __len__(self) -> int:
        """How many records were begun and not committed."""
        return len(self._open)

    def begin(self, position: int) -> None:
        """Note a record as it is read; positions grow."""
        self._open.append(position)
        self.last = position

    def finish(self, positions: Iterable[int]) -> int | None:
        """Note records as done; the last position up to which all are, where that is news, else None."""
        self._done.update(positions)
        reached = None
        while self._open and self._open[0] in self._done:
            reached = self._open.popleft()
            self._done.discard(reached)
        return reached
