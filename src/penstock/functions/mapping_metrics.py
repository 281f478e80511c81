"""Counts of records, with the names of Lambda's metrics, and a JSON line when they change.

Names: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html, event source mapping metrics. At rest
``PolledEventCount`` is the sum of records filtered out, delivered, dropped and released uncommitted.
"""

import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["MappingMetrics"]

_COUNTS = (
    "PolledEventCount",
    "FilteredOutEventCount",
    "InvokedEventCount",
    "DeliveredEventCount",
    "FailedInvokeEventCount",
    "DroppedEventCount",
    "OnFailureDestinationDeliveredEventCount",
    "ReleasedEventCount",
    "Invocations",
    "Errors",
)


class MappingMetrics:
    """The counts of one mapping; safe for threads. ``path`` gets a JSON line per change, at most one in ``every`` seconds.

    Beyond Lambda's names: ``DeliveredEventCount`` counts records that the function finished, ``ReleasedEventCount`` those
    read and released (at a stop or rebalance), which will be read again.
    """

    def __init__(self, mapping: str, path: Path | None = None, *, every: float = 1.0) -> None:
        self._mapping = mapping
        self._path = path
        self._every = every
        self._written = 0.0
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._lag: int | None = None
        self._lock = threading.Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, **counts: int) -> None:
        """Add to the counts by name."""
        with self._lock:
            for name, count in counts.items():
                self._counts[name] += count
            now = time.monotonic()
            if now - self._written >= self._every:
                self._written = now
                self._write()

    def lag(self, records: int) -> None:
        """Record how many records wait at the source."""
        with self._lock:
            self._lag = records

    def totals(self) -> Mapping[str, int]:
        """Return the current counts."""
        with self._lock:
            return dict(self._counts)

    def close(self) -> None:
        """Write the last line."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "mapping": self._mapping, **self._counts}
        if self._lag is not None:
            line["OffsetLag"] = self._lag
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
