"""The rows of a batch for its sinks: read back from staged files, which are the same in every attempt.

A pipeline with one sink of files stages that table's files at once (:attr:`Pipeline.direct_sink`). Others stage the rows
first; files of tables are written from them before the manifest, and the other sinks are written after it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.lake.ledger import Manifest
from penstock.pipelines.model import Pipeline
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.spark.commit.evolution import ReaderFields, SinkRows, TableChanges
from penstock.spark.commit.staging import check_partitions
from penstock.spark.sinks.changes import check_changes, written_columns
from penstock.spark.sinks.parquet import row_bytes, write_files
from penstock.spark.sinks.port import Published, SinkBatch, SinkWriter
from penstock.spark.sources.port import METADATA
from penstock.spark.tables.shapes import hive_columns

__all__ = ["Delivery", "Outputs", "staged_rows"]

_VIEW = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A batch at one sink: the rows that it got, and what it did with them."""

    received: int
    published: Published

    @property
    def facts(self) -> dict[str, Any]:
        """Return the values for metrics and accounts. A sink that had the batch already, from an attempt that was killed
        before it could say so, has written what it got.
        """
        did = self.published
        written = self.received if did.replayed else did.rows
        return {"received": self.received, "written": written, "bytes": did.size, "reference": did.reference}


def staged_rows(spark: SparkSession, files: Sequence[str], schema: StructType) -> DataFrame:
    """Return the rows in staged Parquet ``files``."""
    return spark.read.schema(schema).parquet(*files)


def _selected(rows: DataFrame, sink: SinkSettings) -> DataFrame:
    """Return the rows after the sink's own query."""
    if sink.sql is None:
        return rows
    rows.createOrReplaceTempView(_VIEW)
    return rows.sparkSession.sql(sink.sql)


def _for_table(rows: DataFrame) -> DataFrame:
    return rows.drop(*METADATA.values())


class Outputs:
    """The sinks of one pipeline that are written from staged rows."""

    def __init__(self, pipeline: Pipeline, writers: Mapping[str, SinkWriter]) -> None:
        self._pipeline = pipeline
        self.writers = writers

    def selected(self, rows: DataFrame) -> dict[str, DataFrame]:
        """Return the rows of each sink, by its name. Raises Spark's error for a query that does not fit the rows."""
        return {sink.name: _selected(rows, sink) for sink in self._pipeline.sinks}

    def stage_files(
        self,
        rows: DataFrame,
        folders: Mapping[str, str],
        tables: TableChanges,
        reader: ReaderFields,
        *,
        before: Sequence[Manifest] = (),
    ) -> dict[str, SinkRows]:
        """Write the files of tables below ``folders`` (by sink) from staged ``rows``; return what each sink gets.

        ``before``: the last committed batches, for the size of a row.
        """
        staged = {}
        for sink in self._pipeline.file_sinks:
            output = tables.fit(sink, _for_table(_selected(rows, sink)), reader)
            check_partitions(hive_columns(output.schema), sink, self._pipeline.name)
            counted = Observation()
            output = output.observe(counted, F.count(F.lit(1)).alias("rows"))
            write_files(output, sink, folders[sink.name], row_bytes=row_bytes(before, sink))
            staged[sink.name] = tables.sink_rows(sink, int(counted.get["rows"]), output.schema)
        return staged

    def plan_changes(self, rows: DataFrame, tables: TableChanges, reader: ReaderFields) -> None:
        """Plan what the columns of ``rows`` change in the tables of sinks that are not files.

        Raises :class:`InvalidInput` if the rows lack the keys, the operation or the order of changes.
        """
        for writer in self.writers.values():
            columns = _selected(rows, writer.settings).schema
            check_changes(columns, writer.settings)
            tables.plan(writer.settings, written_columns(columns, writer.settings), reader)

    def publish(
        self,
        spark: SparkSession,
        manifest: Manifest,
        query: str,
        tables: TableChanges,
        *,
        on_sink: Callable[[int], None] = lambda _: None,
    ) -> dict[str, Delivery]:
        """Write the staged rows of the manifest to each sink that is not files, once; return what each got and did.

        Its table is changed first, so that it takes the rows. ``on_sink`` is called when the first ``count`` sinks have the
        rows. Raises :class:`DriftStop` if a table does not take them any more.
        """
        if not self.writers or "rows_files" not in manifest.facts:
            return {}
        rows = staged_rows(spark, manifest.facts["rows_files"], StructType.fromJson(manifest.facts["schema"]))
        reader = ReaderFields.from_facts(manifest.facts.get("reader"))
        published = {}
        for name, writer in self.writers.items():
            output = _selected(rows, writer.settings)
            columns = written_columns(output.schema, writer.settings)
            left_out = tables.evolve(writer.settings, columns, reader)
            columns = StructType([field for field in columns.fields if field.name not in left_out])
            batch = self._batch(writer, output.drop(*left_out), columns, manifest, query)
            published[name] = Delivery(received=batch.count, published=writer.publish(batch))
            on_sink(len(published))
        return published

    def _batch(
        self, writer: SinkWriter, output: DataFrame, columns: StructType, manifest: Manifest, query: str
    ) -> SinkBatch:
        sink = writer.settings
        return SinkBatch(
            pipeline=self._pipeline.name,
            sink=sink.name,
            query=query,
            number=manifest.batch.id,
            end=manifest.batch.end,
            rows=output,
            columns=columns,
            count=manifest.facts["rows"] if sink.sql is None else output.count(),
        )
