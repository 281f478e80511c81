"""A script's rows as a batch of the writers of pipelines' sinks."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from penstock.spark.sinks.port import SinkBatch

__all__ = ["persisted_batch"]


@contextmanager
def persisted_batch(frame: DataFrame, sink: str, *, query: str = "", number: int = 0) -> Iterator[SinkBatch]:
    """Yield the rows, which Spark computes once and keeps meanwhile; ``query`` and ``number`` tell a repeated batch."""
    rows = frame.persist()
    try:
        yield SinkBatch(
            pipeline="glue",
            sink=sink,
            query=query,
            number=number,
            end="",
            rows=rows,
            columns=rows.schema,
            count=rows.count(),
        )
    finally:
        rows.unpersist()
