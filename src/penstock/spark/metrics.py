"""One JSON line for each batch: counts of its records, and the duration of each step."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["BatchMetrics", "MetricsFile"]

_TAIL_BYTES = 200_000


@dataclass(slots=True, kw_only=True)
class BatchMetrics:
    """The metrics of a batch. ``seconds`` maps steps to their duration; ``versions`` maps version numbers to records.

    ``lag`` is :func:`penstock.spark.sources.port.lag_summary`'s after the commit. ``record_bytes`` are the bytes of keys and
    values, counted for sources whose batches are limited in bytes. ``outcome`` is ``committed`` once for each batch,
    ``replayed`` if Spark repeats a batch whose line exists already.
    """

    pipeline: str
    query: str
    batch: int
    outcome: str = "committed"
    rolled_forward: bool = False
    start_offsets: Mapping[str, Any] = field(default_factory=dict)
    end_offsets: Mapping[str, Any] = field(default_factory=dict)
    records: int = 0
    rows: int = 0
    dead: int = 0
    tombstones: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    nulls: dict[str, int] = field(default_factory=dict)
    files: int = 0
    file_bytes: int = 0
    passes: int = 0
    attempts: int = 1
    registry_stale: bool = False
    sinks: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    lag: dict[str, Any] = field(default_factory=dict)
    record_bytes: int | None = None
    max_latency_seconds: float | None = None
    committed_at: str | None = None

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time inside the block to ``seconds[name]``."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - began, 4)


class MetricsFile:
    """Appends lines to a file; None writes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: set[tuple[str, int]] = set()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._known = _last_batches(path)

    def has(self, query: str, batch: int) -> bool:
        """Return whether the batch has its line: a kill can come between the commit and the line."""
        return self._path is None or (query, batch) in self._known

    def add(self, metrics: BatchMetrics) -> None:
        """Write the line."""
        if self._path is not None:
            self._known = {(metrics.query, metrics.batch)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(metrics), separators=(",", ":")) + "\n")


def _last_batches(path: Path) -> set[tuple[str, int]]:
    """Return queries and batches of the file's last lines; a line that a kill cut short is completed by a line break."""
    if not path.exists():
        return set()
    batches: set[tuple[str, int]] = set()
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            file.write(b"\n")
    for line in tail.splitlines():
        try:
            entry = json.loads(line)
            batches.add((str(entry["query"]), int(entry["batch"])))
        except (ValueError, KeyError, TypeError):
            continue
    return batches
