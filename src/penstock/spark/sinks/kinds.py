"""The writers of all kinds of sinks, by the class of their settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.client.catalog import table_input
from penstock.errors import InvalidInput
from penstock.pipelines.model import Pipeline
from penstock.pipelines.sinks.delta import DeltaSink
from penstock.pipelines.sinks.dynamodb import DynamoDbSink
from penstock.pipelines.sinks.iceberg import IcebergSink
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.pipelines.sinks.kafka import KafkaSink
from penstock.pipelines.sinks.kinesis import KinesisSink
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.spark.sinks.delta import DeltaWriter
from penstock.spark.sinks.dynamodb.writer import DynamoDbWriter
from penstock.spark.sinks.iceberg.writer import IcebergWriter
from penstock.spark.sinks.jdbc.writer import JdbcWriter
from penstock.spark.sinks.kafka.writer import KafkaWriter
from penstock.spark.sinks.kinesis import KinesisWriter
from penstock.spark.sinks.port import SinkWriter
from penstock.spark.tables.catalog import DELTA, CatalogCalls, CatalogTable
from penstock.spark.tables.shapes import hive_columns

__all__ = ["SinkContext", "open_sinks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkContext:
    """What writers of a run may need.

    ``fetch_secret`` gets user name and password for a secret's id; ``catalog`` returns the data catalog.
    """

    spark: SparkSession
    pipeline: Pipeline
    fetch_secret: Callable[[str], tuple[str, str]]
    catalog: Callable[[], CatalogCalls]


def _delta(sink: DeltaSink, context: SinkContext) -> DeltaWriter:
    if sink.catalog is None:
        return DeltaWriter(sink, context.spark)
    table = CatalogTable(
        context.catalog(), sink.catalog, location=sink.location, keys=(), files=DELTA, table_input=table_input
    )
    return DeltaWriter(sink, context.spark, lambda columns: table.sync(hive_columns(columns), ()))


_WRITERS: Mapping[type[SinkSettings], Callable[[Any, SinkContext], SinkWriter]] = {
    DeltaSink: _delta,
    IcebergSink: lambda sink, context: IcebergWriter(sink, context.spark),
    DynamoDbSink: lambda sink, _: DynamoDbWriter(sink),
    KinesisSink: lambda sink, context: KinesisWriter(sink, context.spark),
    JdbcSink: lambda sink, context: JdbcWriter(sink, context.fetch_secret),
    KafkaSink: lambda sink, context: KafkaWriter(sink, context.spark, context.fetch_secret),
}


def open_sinks(context: SinkContext) -> dict[str, SinkWriter]:
    """Return the checked writers, by name, of the pipeline's sinks that are not files."""
    files = {sink.name for sink in context.pipeline.file_sinks}
    writers = {}
    for sink in context.pipeline.sinks:
        if sink.name in files:
            continue
        make = _WRITERS.get(type(sink))
        if make is None:
            raise InvalidInput(f"Sink {sink.name}: the runner has no writer for {sink.kind}.")
        writers[sink.name] = make(sink, context)
        writers[sink.name].check()
    return writers
