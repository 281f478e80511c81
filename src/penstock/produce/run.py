"""The loop of a producer: it sends records at a given rate and reports progress a few times a second."""

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from penstock.errors import InvalidInput
from penstock.produce.producer import Producer, Report
from penstock.schema.version import SchemaVersion

__all__ = ["send_all"]

_REPORT_SECONDS = 0.25


def send_all(
    producer: Producer,
    records: Iterable[Any],
    *,
    limit: int | None = None,
    key_field: str | None = None,
    rate: float | None = None,
    schema_version: SchemaVersion | None = None,
    on_progress: Callable[[Report], None] | None = None,
) -> Report:
    """Send at most ``limit`` records, at most ``rate`` per second, wait for their acknowledgements and return the counts.

    ``key_field`` names the field whose text becomes the key. Raises the errors of :meth:`Producer.send`, after a wait for
    the acknowledgements of the records sent before.
    """
    started = time.monotonic()
    shown = started
    # Records between two readings of the clock: few enough for an even rate, many enough to cost nothing.
    stride = max(1, min(200, int(rate / 20))) if rate else 200
    try:
        for count, record in enumerate(islice(records, limit), 1):
            producer.send(record, key=_key(record, key_field) if key_field else None, schema_version=schema_version)
            if count % stride == 0:
                if rate:
                    _pause(producer, started + count / rate)
                now = time.monotonic()
                if on_progress is not None and now - shown >= _REPORT_SECONDS:
                    shown = now
                    on_progress(producer.progress)
    finally:
        report = producer.flush()
    if on_progress is not None:
        on_progress(report)
    return report


def _pause(producer: Producer, until: float) -> None:
    while (remaining := until - time.monotonic()) > 0:
        producer.poll(min(remaining, 0.1))


def _key(record: Any, field: str) -> str | None:
    value = record.get(field) if isinstance(record, Mapping) else None
    if value is None:
        if not isinstance(record, Mapping) or field not in record:
            raise InvalidInput(f"The record lacks the key field '{field}'.")
        return None
    return value if isinstance(value, str) else str(value)
