"""Batches for the sinks of table formats, as the runner makes them of staged rows."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.spark.sinks.port import SinkBatch

PLAIN = "id bigint, name string, day string, _partition int, _offset bigint"
CDC = f"{PLAIN}, op string"


def a_batch(
    spark: SparkSession,
    number: int,
    rows: Sequence[tuple[Any, ...]],
    schema: str = PLAIN,
    *,
    sink: str = "ice",
    drop: Sequence[str] = (),
) -> SinkBatch:
    """A batch of pipeline ``orders``; columns that begin with ``_``, and those of ``drop``, are not the table's."""
    frame = spark.createDataFrame(list(rows), schema)
    columns = StructType([field for field in frame.schema.fields if field.name[0] != "_" and field.name not in drop])
    return SinkBatch(
        pipeline="orders",
        sink=sink,
        query="a" * 32,
        number=number,
        end="{}",
        rows=frame,
        columns=columns,
        count=len(rows),
    )
