"""Write batches to a Delta table, exactly once: by the table's own record of each application's last transaction.

A commit names its application (:attr:`SinkBatch.marker`) and its version (the batch's number). Delta refuses a commit of a
version that the table has, also if two writers commit it at the same time
(https://github.com/delta-io/delta/blob/master/PROTOCOL.md#transaction-identifiers).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.errors import ConcurrentModification, EnvironmentProblem, InvalidInput
from penstock.locks import file_lock
from penstock.pipelines.sinks.delta import DeltaSink
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import latest_changes
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.sinks.sql import alteration, columns_sql, for_columns, literal, merge_sql
from penstock.spark.tables.changes import AddColumn, Change, RenameColumn, WidenType
from penstock.spark.types import lake_type
from penstock.types.widening import DELTA, fits

__all__ = ["DeltaWriter", "one_writer"]

_APPLICATION = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_TRIES = 5
_CONFLICT = ("ConcurrentModification", "ConcurrentAppend", "ConcurrentDelete", "ConcurrentTransaction", "ConcurrentWrite")
_CONFLICTS = (*_CONFLICT, "MetadataChanged", "ProtocolChanged", "DELTA_CONCURRENT")


class DeltaWriter:
    """Implements :class:`~penstock.spark.sinks.port.SinkWriter` and :class:`~penstock.spark.tables.evolving.EvolvingTable`.

    The session needs Delta's extension and catalog: :func:`penstock.spark.sinks.requirements.requirements`.
    ``on_columns`` gets the table's columns when they may have changed, for a catalog.
    """

    def __init__(
        self, sink: DeltaSink, spark: SparkSession, on_columns: Callable[[StructType], object] = lambda _: None
    ) -> None:
        self._sink = sink
        self._spark = spark
        self._on_columns = on_columns
        self._catalogued: StructType | None = None
        self._identifier = f"delta.{quoted(sink.location)}"

    @property
    def settings(self) -> DeltaSink:
        """Return what was declared."""
        return self._sink

    @property
    def name(self) -> str:
        """Return the table's folder."""
        return self._sink.location

    def check(self) -> None:
        """Find that Spark has Delta, and that the folder has a Delta table or nothing."""
        catalog = str(self._spark.conf.get("spark.sql.catalog.spark_catalog", ""))
        if not catalog.endswith("DeltaCatalog"):
            raise InvalidInput(
                f"Sink {self._sink.name}: this Spark session was started without Delta.",
                remedy="Let penstock run start it, or see the configuration on the page of the sink.",
            )
        if self.table() is None and HadoopFiles(self._spark).names(self._sink.location):
            raise InvalidInput(
                f"Sink {self._sink.name}: {self._sink.location} has files and is not a Delta table.",
                remedy="Give a folder that is empty or not there.",
            )

    def table(self) -> StructType | None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        with _calls(self._sink):
            log = self._log(self._spark)
            if int(log.version()) < 0:
                return None
            return _columns(log)

    def publish(self, batch: SinkBatch) -> Published:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`. Raises :class:`ConcurrentModification` after five tries."""
        session = batch.rows.sparkSession
        for number in range(1, _TRIES + 1):
            try:
                with _calls(self._sink), one_writer(session, self._sink.location):
                    return self._publish(session, batch)
            except ConcurrentModification:
                if number == _TRIES:
                    raise
        raise AssertionError

    def _publish(self, session: SparkSession, batch: SinkBatch) -> Published:
        self._create(session, batch.columns)
        before = self._log(session)
        version = before.transactions().get(batch.marker)
        if version.isDefined() and int(version.get()) >= batch.number:
            self._tell(before)  # a kill may have come before
            return Published(rows=batch.count, replayed=True)
        self._write(session, batch)
        after = self._log(session)
        self._tell(after)
        return Published(rows=batch.count, reference=str(after.version()))

    def unsupported(self, change: Change) -> str | None:
        """Return why Delta cannot make the change."""
        if "key" in getattr(change, "path", ()) and not isinstance(change, AddColumn):
            return "Delta does not change keys of maps"
        if not isinstance(change, WidenType):
            return None
        if not fits(lake_type(change.old), lake_type(change.new), DELTA):
            return f"Delta does not widen {change.old.simpleString()} to {change.new.simpleString()}"
        if len(change.path) == 1 and change.path[0].lower() in {name.lower() for name in self._sink.partition_by}:
            return "it is a partition column"
        return None

    def evolve(self, changes: Sequence[Change]) -> None:
        """Change the table's columns.

        A rename first gives the table column mapping by name, and a widening the feature of type widening: readers then
        need to know them. Files that were written before stay as they are.
        """
        with _calls(self._sink), one_writer(self._spark, self._sink.location):
            properties = self._log(self._spark).getProperties()
            if any(isinstance(change, RenameColumn) for change in changes) and not _has(
                properties, "delta.columnMapping.mode", "name"
            ):
                self._set({"delta.columnMapping.mode": "name"})
            if any(isinstance(change, WidenType) for change in changes) and not _has(
                properties, "delta.enableTypeWidening", "true"
            ):
                self._set({"delta.enableTypeWidening": "true"})
            for change in changes:
                self._spark.sql(alteration(self._identifier, change))

    def _set(self, properties: dict[str, str]) -> None:
        assignments = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        self._spark.sql(f"ALTER TABLE {self._identifier} SET TBLPROPERTIES ({assignments})")

    def _log(self, session: SparkSession) -> Any:
        """Return the newest state of the table (Delta's Snapshot)."""
        jvm: Any = session._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, self._sink.location).update(
            False, jvm.scala.Option.empty(), jvm.scala.Option.empty()
        )

    def _create(self, session: SparkSession, columns: StructType) -> None:
        if int(self._log(session).version()) >= 0:
            return
        sink = self._sink
        names = ", ".join(quoted(name) for name in sink.partition_by)
        assignments = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sink.properties.items())
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._identifier} ({columns_sql(columns)}) USING delta"
            + (f" PARTITIONED BY ({names})" if names else "")
            + (f" TBLPROPERTIES ({assignments})" if assignments else "")
        )

    def _write(self, session: SparkSession, batch: SinkBatch) -> None:
        with _transaction(session, batch):
            if self._sink.mode == "append":
                columns = _columns(self._log(session))
                for_columns(batch.rows, columns).write.format("delta").mode("append").save(self._sink.location)
                return
            changes = latest_changes(batch.rows, self._sink)
            with _view(changes) as view:
                session.sql(merge_sql(self._identifier, view, batch.columns.names, self._sink.keys))

    def _tell(self, state: Any) -> None:
        """Update the columns in the catalog, if they changed since the last update."""
        columns = _columns(state)
        if columns != self._catalogued:
            self._on_columns(columns)
            self._catalogued = columns


@contextmanager
def one_writer(session: SparkSession, location: str) -> Iterator[None]:
    """Let the block alone write to a Delta table in a folder of this machine: its commits are renames, which overwrite.

    Elsewhere this does nothing: the table's store decides which of two commits fails.
    """
    path = session._jvm.org.apache.hadoop.fs.Path(location)  # type: ignore[union-attr]
    files = path.getFileSystem(session._jsc.hadoopConfiguration())
    if "S3A" not in files.getClass().getSimpleName():
        files.mkdirs(path)  # a folder that is not there has no place yet
    folder = HadoopFiles(session).on_this_machine(location)
    if folder is None:
        yield
        return
    # Not in the table's folder, which has to be empty for a new table.
    with file_lock(folder.parent / f".{folder.name}.lock", patience=-1):
        yield


def _columns(state: Any) -> StructType:
    return StructType.fromJson(json.loads(state.schema().json()))


def _has(properties: Any, key: str, value: str) -> bool:
    current = properties.get(key)
    return bool(current.isDefined()) and str(current.get()) == value


@contextmanager
def _transaction(session: SparkSession, batch: SinkBatch) -> Iterator[None]:
    """Name the application and version of the session's commits to Delta tables."""
    session.conf.set(_APPLICATION, batch.marker)
    session.conf.set(_VERSION, str(batch.number))
    try:
        yield
    finally:
        session.conf.unset(_APPLICATION)
        session.conf.unset(_VERSION)


@contextmanager
def _view(rows: DataFrame) -> Iterator[str]:
    name = f"penstock_changes_{uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)


@contextmanager
def _calls(sink: DeltaSink) -> Iterator[None]:
    """Translate what Delta and its files throw."""
    try:
        yield
    except (AnalysisException, PySparkException, Py4JJavaError) as error:
        text = str(error.java_exception.toString()) if isinstance(error, Py4JJavaError) else str(error).splitlines()[0]
        where = f"Delta table {sink.location}"
        if any(word in text for word in _CONFLICTS):
            raise ConcurrentModification(f"{where} was changed by others while a batch was written.") from error
        if isinstance(error, AnalysisException):
            raise InvalidInput(f"Sink {sink.name}: {text[:400]}") from error
        if isinstance(error, PySparkException):
            raise
        raise EnvironmentProblem(
            f"{where} cannot be reached: {text[:400]}.", remedy="Check the location, its permissions and free space."
        ) from error
