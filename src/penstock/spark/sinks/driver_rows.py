"""Rows that a sink writes from the driver: brought there a partition at a time, and counted, so that none is missed."""

import math
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import EnvironmentProblem

__all__ = ["check_all_rows", "rows_on_driver"]


def rows_on_driver(rows: DataFrame, count: int, *, at_once: int) -> Iterator[Any]:
    """Return the ``count`` rows, in partitions of about ``at_once``, so that the driver holds few; each is a job.

    PySpark's iterators can end early, without an error, when the JVM dies: see :func:`check_all_rows`.
    """
    tasks = math.ceil(count / at_once)
    return (rows.repartition(tasks) if tasks > 1 else rows.coalesce(1)).toLocalIterator(prefetchPartitions=True)


def check_all_rows(sink: str, received: int, expected: int, *, outcome: str = "") -> None:
    """Raise :class:`EnvironmentProblem`, which is retried, unless Spark gave the ``sink`` all rows.

    ``outcome`` says what became of those that it gave.
    """
    if received != expected:
        raise EnvironmentProblem(
            f"Sink {sink}: Spark gave {received:,} of {expected:,} rows{f'; {outcome}' if outcome else ''}.",
            remedy="The batch is retried with the same rows.",
        )
