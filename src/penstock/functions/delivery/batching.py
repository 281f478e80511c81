"""Records to batches: by count, by time since the first one, and by the size of the event they make."""

from collections import deque

from penstock.functions.records import Record

__all__ = ["MAX_PAYLOAD", "Batcher"]

MAX_PAYLOAD = 6 * 1024 * 1024  # bytes; Lambda's quota for the request of a synchronous invocation

_AROUND = 8  # bytes that an entry brings beside itself: commas, and a list's brackets


class Batcher:
    """Collects records in order. ``size`` counts records, ``window`` is in seconds, ``envelope`` is the event without any.

    A partition's first record in a batch costs its name too, as the Kafka event repeats it.
    """

    def __init__(self, *, size: int, window: float, envelope: int, max_bytes: int = MAX_PAYLOAD) -> None:
        self._size = size
        self._window = window
        self._envelope = envelope
        self._max = max_bytes
        self._waiting: deque[tuple[Record, float]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """How many records wait."""
        return len(self._waiting)

    def fits(self, record: Record) -> bool:
        """Whether the record makes an event of an allowed size by itself."""
        return self._envelope + _cost(record, True) <= self._max

    def add(self, record: Record, now: float) -> None:
        """Append a record that was read at ``now`` (seconds of a monotonic clock)."""
        self._waiting.append((record, now))
        self._bytes += _cost(record, False)

    @property
    def full(self) -> bool:
        """Whether a batch is complete by count or size."""
        return len(self._waiting) >= self._size or self._bytes + self._envelope >= self._max

    def due(self, now: float) -> bool:
        """Whether a batch should go now."""
        return bool(self._waiting) and (self.full or now >= self._waiting[0][1] + self._window)

    def due_in(self, now: float) -> float | None:
        """Seconds until a batch is due by time; None if nothing waits."""
        return max(0.0, self._waiting[0][1] + self._window - now) if self._waiting else None

    def take(self) -> list[Record]:
        """The next batch: as many of the first records as count and size allow, at least one."""
        batch: list[Record] = []
        seen: set[str] = set()
        total = self._envelope
        while self._waiting and len(batch) < self._size:
            record = self._waiting[0][0]
            total += _cost(record, record.partition not in seen)
            if batch and total > self._max:
                break
            seen.add(record.partition)
            batch.append(record)
            self._waiting.popleft()
            self._bytes -= _cost(record, False)
        return batch

    def drop(self, partitions: frozenset[str] | None = None) -> int:
        """Forget the records of ``partitions`` (None: all); how many those were."""
        kept = deque(each for each in self._waiting if partitions is not None and each[0].partition not in partitions)
        dropped = len(self._waiting) - len(kept)
        self._waiting = kept
        self._bytes = sum(_cost(record, False) for record, _ in kept)
        return dropped


def _cost(record: Record, first: bool) -> int:
    return len(record.entry) + _AROUND + (len(record.partition.encode()) if first else 0)
