"""Rows as records: key, value and headers, computed by Spark in the JVM."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import BinaryType, StructType

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.kafka import KafkaSink
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import DELETED
from penstock.spark.sinks.values import JSON, ValueSchema, encoded
from penstock.spark.sources.port import METADATA

__all__ = ["BATCH", "SOURCE", "records", "value_columns"]

BATCH = "penstock-batch"
"""The header with pipeline, sink, query and number of a record's batch: the same in every attempt."""

SOURCE = "penstock-source"
"""The header with topic, partition and offset of the record that the row came from, where the rows have them."""


def value_columns(columns: StructType, sink: KafkaSink) -> StructType:
    """Return the columns of the value: without those of headers. Raises :class:`InvalidInput` for a missing column."""
    for name in (*sink.record_key, *sink.headers):
        if name not in columns.names:
            raise InvalidInput(
                f"Sink {sink.name}: there is no column '{name}' for the record's key or headers.",
                remedy=f"The rows have: {', '.join(columns.names)}.",
            )
    value = StructType([field for field in columns.fields if field.name not in sink.headers])
    if not value.fields:
        raise InvalidInput(f"Sink {sink.name}: all columns are headers, and the value has none.")
    return value


def records(rows: DataFrame, columns: StructType, sink: KafkaSink, schema: ValueSchema | None, marker: str) -> DataFrame:
    """Return ``key``, ``value`` and ``headers`` of rows with ``columns``, with the source's metadata, or :data:`DELETED`.

    The value of a deleted row is null, a tombstone. ``marker`` is the value of :data:`BATCH`.
    """
    body = F.struct(*(F.col(quoted(name)) for name in value_columns(columns, sink).names))
    value = encoded(body, sink.value, schema, deleted=F.col(DELETED) if DELETED in rows.columns else None)
    key = _key(columns, sink.record_key)
    return rows.select(key.alias("key"), value.alias("value"), _headers(rows, sink, marker).alias("headers"))


def _key(columns: StructType, names: Sequence[str]) -> Column:
    if not names:
        return F.lit(None).cast("binary")
    if len(names) > 1:
        return F.to_json(F.struct(*(F.col(quoted(name)) for name in names)), JSON).cast("binary")
    (name,) = names
    column = F.col(quoted(name))
    return column if isinstance(columns[name].dataType, BinaryType) else column.cast("string").cast("binary")


def _headers(rows: DataFrame, sink: KafkaSink, marker: str) -> Column:
    headers = [_header(F.lit(BATCH), F.lit(marker))]
    topic, partition, offset = METADATA["topic"], METADATA["partition"], METADATA["offset"]
    if {partition, offset} <= set(rows.columns):
        parts = [F.col(name).cast("string") for name in (topic, partition, offset) if name in rows.columns]
        headers.append(_header(F.lit(SOURCE), F.concat_ws("/", *parts)))
    headers += [_header(F.lit(name), F.col(quoted(name)).cast("string")) for name in sink.headers]
    return F.array(*headers)


def _header(name: Column, value: Column) -> Column:
    return F.struct(name.alias("key"), value.cast("binary").alias("value"))
