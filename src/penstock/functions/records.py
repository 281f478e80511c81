"""A record between source and function, and the progress of a partition's records."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Progress", "Record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record for a function.

    ``partition`` is the ordered sequence (``topic-0``, a shard's id), ``position`` the offset or sequence number in it,
    ``timestamp_ms`` the record's time since 1970. ``entry`` is its JSON in the event, UTF-8; ``view`` its value for filters.
    ``key`` is the partition key.
    """

    partition: str
    position: int
    timestamp_ms: int
    key: bytes | None
    entry: bytes
    view: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)


class Progress:
    """The position up to which all records of one partition are finished, in whatever order they finish."""

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._finished: set[int] = set()
        self.last: int | None = None
        """The last position begun."""

    def __len__(self) -> int:
        """Return how many records were begun and not committed."""
        return len(self._open)

    def begin(self, position: int) -> None:
        """Record that a record was read; positions grow."""
        self._open.append(position)
        self.last = position

    def finish(self, positions: Iterable[int]) -> int | None:
        """Record finished positions. Return the last one up to which all are finished, or None if it is unchanged."""
        self._finished.update(positions)
        reached = None
        while self._open and self._open[0] in self._finished:
            reached = self._open.popleft()
            self._finished.discard(reached)
        return reached
