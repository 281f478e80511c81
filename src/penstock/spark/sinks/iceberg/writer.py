"""Write batches to an Iceberg table, exactly once: see :mod:`penstock.spark.sinks.iceberg.commits`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, StructType

from penstock.errors import ConcurrentModification, EnvironmentProblem, InvalidInput
from penstock.pipelines.sinks.iceberg import IcebergSink, PartitionTransform
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import latest_changes
from penstock.spark.sinks.iceberg.catalog import use_catalog
from penstock.spark.sinks.iceberg.commits import Attempt, BatchBranch, Overtaken, load_table
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.sinks.sql import alteration, columns_sql, for_columns, literal, merge_sql
from penstock.spark.tables.changes import AddColumn, Change, WidenType
from penstock.spark.types import lake_type
from penstock.types.widening import ICEBERG, fits

__all__ = ["IcebergWriter"]

_TRIES = 5
_DEFAULTS = {"format-version": "2", "write.parquet.compression-codec": "zstd"}
_SUMMARY = "spark.sql.iceberg.snapshot-property."


class IcebergWriter:
    """Implements :class:`~penstock.spark.sinks.port.SinkWriter` and :class:`~penstock.spark.tables.evolving.EvolvingTable`.

    ``environment`` has AWS's own variables (None: this process's); ``identifier`` is the table's name in Spark, quoted.
    """

    def __init__(self, sink: IcebergSink, spark: SparkSession, environment: Mapping[str, str] | None = None) -> None:
        self._sink = sink
        self._spark = spark
        self._environment = os.environ if environment is None else environment
        self._catalog = use_catalog(spark, sink, self._environment)
        self.identifier = quoted(self._catalog, *sink.table.split("."))

    @property
    def settings(self) -> IcebergSink:
        """Return what was declared."""
        return self._sink

    @property
    def name(self) -> str:
        """DATABASE.TABLE."""
        return self._sink.table

    def check(self) -> None:
        """Reach the catalog, and find that the table is Iceberg's or is not there."""
        jvm: Any = self._spark._jvm
        with _calls(self._sink):
            catalog = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(self._spark._jsparkSession, self._catalog)
            try:
                catalog.loadTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(self._sink.table))
            except Py4JJavaError as error:
                if error.java_exception.getClass().getSimpleName() != "NoSuchTableException":
                    raise

    def table(self) -> StructType | None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        with _calls(self._sink):
            if not self._spark.catalog.tableExists(self.identifier):
                return None
            return self._spark.table(self.identifier).schema

    def open(self, session: SparkSession) -> Any:
        """Return Iceberg's Java object of the table, at its newest state."""
        use_catalog(session, self._sink, self._environment)
        return load_table(session, self.identifier)

    def publish(self, batch: SinkBatch) -> Published:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`. Raises :class:`ConcurrentModification` after five tries."""
        session = batch.rows.sparkSession
        use_catalog(session, self._sink, self._environment)
        with _calls(self._sink):
            self._create(session, batch.columns)
            branch = BatchBranch(self.open(session), batch)
            for _ in range(_TRIES):
                if (published := branch.published()) is not None:
                    return Published(rows=batch.count, reference=published, replayed=True)
                try:
                    attempt = branch.begin()
                    self._write(session, batch, branch.name, attempt)
                    snapshot = branch.publish(attempt)
                except Overtaken:
                    continue
                return Published(rows=batch.count, size=_size(snapshot), reference=str(snapshot.snapshotId()))
        raise ConcurrentModification(
            f"Iceberg table {self.name} is changed by others faster than batch {batch.number} can be written."
        )

    def unsupported(self, change: Change) -> str | None:
        """Return why Iceberg cannot make the change (https://iceberg.apache.org/spec/#schema-evolution)."""
        if "key" in getattr(change, "path", ()) and not isinstance(change, AddColumn):
            return "Iceberg does not change keys of maps"
        if not isinstance(change, WidenType):
            return None
        old, new = change.old, change.new
        if fits(lake_type(old), lake_type(new), ICEBERG):
            return None
        if isinstance(old, DateType):
            return "Iceberg's tables of version 2 do not turn dates into timestamps"
        return f"Iceberg does not widen {old.simpleString()} to {new.simpleString()}"

    def evolve(self, changes: Sequence[Change]) -> None:
        """Change the table's columns: Iceberg has ids of columns, so files that were written before stay readable."""
        with _calls(self._sink):
            for change in changes:
                self._spark.sql(alteration(self.identifier, change))

    def _create(self, session: SparkSession, columns: StructType) -> None:
        if session.catalog.tableExists(self.identifier):
            return
        sink = self._sink
        partitions = ", ".join(map(_transform_sql, sink.transforms))
        properties = {**_DEFAULTS, **sink.properties}
        assignments = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(self._catalog, sink.table.split('.')[0])}")
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {self.identifier} ({columns_sql(columns)}) USING iceberg"
            + (f" PARTITIONED BY ({partitions})" if partitions else "")
            + (f" LOCATION {literal(sink.folder)}" if sink.folder else "")
            + f" TBLPROPERTIES ({assignments})"
        )

    def _write(self, session: SparkSession, batch: SinkBatch, branch: str, attempt: Attempt) -> None:
        target = f"{self.identifier}.{quoted(f'branch_{branch}')}"
        columns = session.table(self.identifier).schema
        if self._sink.mode == "append":
            writer = for_columns(batch.rows, columns).writeTo(target)
            for key, value in attempt.summary.items():
                writer = writer.option(f"snapshot-property.{key}", value)
            writer.append()
            return
        changes = latest_changes(batch.rows, self._sink)
        with _view(changes) as view, _summary(session, attempt):
            session.sql(merge_sql(target, view, batch.columns.names, self._sink.keys))


def _transform_sql(transform: PartitionTransform) -> str:
    if transform.name == "identity":
        return quoted(transform.column)
    width = "" if transform.width is None else f"{transform.width}, "
    return f"{transform.name}({width}{quoted(transform.column)})"


@contextmanager
def _view(rows: DataFrame) -> Iterator[str]:
    name = f"penstock_changes_{uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)


@contextmanager
def _summary(session: SparkSession, attempt: Attempt) -> Iterator[None]:
    """Give the snapshots of SQL statements the attempt's summary."""
    for key, value in attempt.summary.items():
        session.conf.set(_SUMMARY + key, value)
    try:
        yield
    finally:
        for key in attempt.summary:
            session.conf.unset(_SUMMARY + key)


def _size(snapshot: Any) -> int | None:
    size = snapshot.summary().get("added-files-size")
    return None if size is None else int(size)


@contextmanager
def _calls(sink: IcebergSink) -> Iterator[None]:
    """Translate what Iceberg, its catalog and its files throw."""
    try:
        yield
    except (AnalysisException, IllegalArgumentException) as error:
        raise InvalidInput(f"Sink {sink.name}: {str(error).splitlines()[0][:400]}") from error
    except Py4JJavaError as error:
        cause = error.java_exception
        text = f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
        if "NoSuchIcebergTable" in text:
            raise InvalidInput(
                f"Sink {sink.name}: {sink.table} is in the catalog and is not an Iceberg table.",
                remedy="Write to another table, or remove that one from the catalog.",
            ) from error
        raise EnvironmentProblem(
            f"Iceberg table {sink.table} cannot be reached: {text[:400]}.",
            remedy="Check the catalog's address, the keys (AWS_ACCESS_KEY_ID) and the table's location.",
        ) from error
