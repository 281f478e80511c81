"""Deduplication and windows by event time, with state that the caller keeps: pure functions over DataFrames.

Each takes the state of the last committed batch and the rows of this one, and returns what comes out, the new state, and
the rows that came too late. The watermark is the latest event time of all rows so far less the declared delay; it only
rises. Rows at or above the watermark of the earlier batches are in time, so an outcome does not depend on the order within
a batch. After a kill the same state and rows give the same outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType
from pyspark.sql.window import Window

from penstock.errors import InvalidInput
from penstock.pipelines.transforms import DeduplicateStep, WindowStep
from penstock.spark.sources.port import METADATA

__all__ = ["Stepped", "deduplicate", "later_watermark", "windows"]

_EXPIRES = "_expires"
_UNITS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_ORDER = ("_timestamp", "_topic", "_partition", "_offset", "_sequence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """The outcome of a step with state. ``late`` are rows of the batch below its watermark, or without a time."""

    rows: DataFrame
    state: DataFrame
    late: DataFrame


def _time(rows: DataFrame, name: str, step: str) -> Column:
    """Return the event time. Raises :class:`InvalidInput` if the column is not a time."""
    data_type = rows.select(F.expr(name)).schema[0].dataType
    if not isinstance(data_type, TimestampType | TimestampNTZType | DateType):
        raise InvalidInput(
            f"Step {step}: 'time' is {name}, which is {data_type.simpleString()}, not a timestamp.",
            remedy="Name a timestamp, or make one, such as timestamp_millis(created_at).",
        )
    return F.expr(name).cast("timestamp")


def later_watermark(rows: DataFrame, step: DeduplicateStep | WindowStep, before: int | None) -> int | None:
    """Return the watermark after a batch, in microseconds since 1970; ``before`` is that of the earlier batches.

    This reads ``rows`` once. None if no row had a time yet.
    """
    moment = F.max(_time(rows, step.time, step.name)) - F.expr(f"INTERVAL '{step.watermark}'")
    latest = rows.select(F.unix_micros(moment).alias("at")).collect()[0]["at"]
    return max((watermark for watermark in (before, latest) if watermark is not None), default=None)


def _is_late(time: Column, before: int | None) -> Column:
    missing = time.isNull()
    return missing if before is None else missing | (time < F.timestamp_micros(F.lit(before)))


def deduplicate(
    state: DataFrame | None, batch: DataFrame, step: DeduplicateStep, *, before: int | None, after: int | None
) -> Stepped:
    """Return the rows whose keys were not seen within the watermark: of one batch the first row, in the source's order.

    ``state`` has the keys and ``_expires``. A key is forgotten when the watermark passes the time of its first row by the
    declared delay, as in Spark's ``dropDuplicatesWithinWatermark``.
    """
    time = _time(batch, step.time, step.name)
    late = batch.filter(_is_late(time, before))
    in_time = batch.filter(~_is_late(time, before))
    order = [F.col(name).asc_nulls_last() for name in _ORDER if name in batch.columns] or [time]
    first = Window.partitionBy(*step.keys).orderBy(*order)
    fresh = in_time.withColumn("_rank", F.row_number().over(first)).filter("_rank = 1").drop("_rank")
    if state is not None:
        stored = state.select(*(F.col(key).alias(f"_known_{key}") for key in step.keys))
        same = [F.col(key).eqNullSafe(F.col(f"_known_{key}")) for key in step.keys]
        fresh = fresh.join(stored, _all(same), "left_anti")
    expiring = fresh.select(*step.keys, (time + F.expr(f"INTERVAL '{step.watermark}'")).alias(_EXPIRES))
    next_state = expiring if state is None else state.select(*step.keys, _EXPIRES).unionByName(expiring)
    if after is not None:
        next_state = next_state.filter(F.col(_EXPIRES) >= F.timestamp_micros(F.lit(after)))
    return Stepped(rows=fresh, state=next_state, late=late)


def _all(conditions: Sequence[Column]) -> Column:
    together = conditions[0]
    for condition in conditions[1:]:
        together &= condition
    return together


def windows(
    state: DataFrame | None, batch: DataFrame, step: WindowStep, *, before: int | None, after: int | None
) -> Stepped:
    """Return the aggregates of the windows that became complete with this batch.

    ``state`` has the rows of windows that are open. A row is late if its last window was complete before the batch.
    """
    hidden = [name for name in METADATA.values() if name in batch.columns]
    time = _time(batch, step.time, step.name)
    window = F.window(time, step.size, step.slide) if step.slide else F.window(time, step.size)
    last = _last_end(time, step)
    closed = F.lit(False) if before is None else last <= F.timestamp_micros(F.lit(before))
    is_late = F.coalesce(time.isNull() | closed, F.lit(True))
    late = batch.filter(is_late)
    rows = batch.filter(~is_late).drop(*hidden)
    if state is not None:
        # Columns that one of the two lacks, because the schema has grown or a step was changed, are null.
        rows = state.unionByName(rows, allowMissingColumns=True)
    if after is None:
        return Stepped(rows=_aggregated(rows.limit(0), window, step), state=rows, late=late)
    now = F.timestamp_micros(F.lit(after))
    complete = F.col("window_end") <= now
    if before is not None:
        complete &= F.col("window_end") > F.timestamp_micros(F.lit(before))
    return Stepped(rows=_aggregated(rows, window, step).filter(complete), state=rows.filter(last > now), late=late)


def _last_end(time: Column, step: WindowStep) -> Column:
    """Return the end of the last window that a time belongs to; windows begin at multiples of the slide since 1970."""
    every, size = (_microseconds(duration) for duration in (step.slide or step.size, step.size))
    moment = F.unix_micros(time)
    return F.timestamp_micros(moment - F.pmod(moment, F.lit(every)) + F.lit(size))


def _microseconds(duration: str) -> int:
    """Return a duration such as ``1 hour 30 minutes`` in microseconds."""
    words = duration.split()
    units = zip(words[::2], words[1::2], strict=True)
    return sum(int(count) * _UNITS[unit.removesuffix("s")] for count, unit in units)


def _aggregated(rows: DataFrame, window: Any, step: WindowStep) -> DataFrame:
    by = [F.expr(name) for name in step.by]
    aggregated = rows.groupBy(window.alias("_window"), *by).agg(
        *(F.expr(expression).alias(name) for name, expression in step.aggregates.items())
    )
    names = [name for name in aggregated.columns if name != "_window"]
    return aggregated.select(
        F.col("_window.start").alias("window_start"),
        F.col("_window.end").alias("window_end"),
        *(F.col(f"`{name}`") for name in names),
    )
