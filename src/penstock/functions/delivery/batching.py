"""Batches records: by count, by time since the first one, and by the size of their event."""

from collections import deque

from penstock.functions.records import Record

__all__ = ["MAX_PAYLOAD", "Batcher"]

MAX_PAYLOAD = 6 * 1024 * 1024  # bytes; Lambda's quota for the request of a synchronous invocation

_AROUND = 8  # further bytes per entry: commas, and a list's brackets


class Batcher:
    """Collects records in order. ``size`` counts records, ``window`` is in seconds, ``envelope`` the empty event's bytes.

    The size of a partition's first record in a batch includes the partition's name, which the Kafka event repeats.
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
        """Return whether the record alone makes an event of permitted size."""
        return self._envelope + _cost(record, True) <= self._max

    def add(self, record: Record, now: float) -> None:
        """Append a record that was read at ``now`` (seconds of a monotonic clock)."""
        self._waiting.append((record, now))
        self._bytes += _cost(record, False)

    @property
    def full(self) -> bool:
        """Return whether a batch is complete by count or size."""
        return len(self._waiting) >= self._size or self._bytes + self._envelope >= self._max

    def due(self, now: float) -> bool:
        """Return whether a batch is due now."""
        return bool(self._waiting) and (self.full or now >= self._waiting[0][1] + self._window)

    def due_in(self, now: float) -> float | None:
        """Return the seconds until a batch is due by time; None without records."""
        return max(0.0, self._waiting[0][1] + self._window - now) if self._waiting else None

    def take(self) -> list[Record]:
        """Remove and return the next batch: as many of the first records as count and size allow, at least one."""
        batch: list[Record] = []
        partitions: set[str] = set()
        total = self._envelope
        while self._waiting and len(batch) < self._size:
            record = self._waiting[0][0]
            total += _cost(record, record.partition not in partitions)
            if batch and total > self._max:
                break
            partitions.add(record.partition)
            batch.append(record)
            self._waiting.popleft()
            self._bytes -= _cost(record, False)
        return batch

    def drop(self, partitions: frozenset[str] | None = None) -> int:
        """Remove the records of ``partitions`` (None: all). Return how many they were."""
        remaining = deque(pair for pair in self._waiting if partitions is not None and pair[0].partition not in partitions)
        dropped = len(self._waiting) - len(remaining)
        self._waiting = remaining
        self._bytes = sum(_cost(record, False) for record, _ in remaining)
        return dropped


def _cost(record: Record, first: bool) -> int:
    return len(record.entry) + _AROUND + (len(record.partition.encode()) if first else 0)
