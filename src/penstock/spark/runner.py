"""Run a declared pipeline: start or use a Spark session, check the checkpoint, stream until done, stopped or failed."""

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.client.catalog import CatalogClient, table_input
from penstock.client.registry import RegistryClient
from penstock.client.secrets import broker_credentials
from penstock.lake.ledger import Batch, Ledger
from penstock.pipelines.model import Pipeline
from penstock.pipelines.targets import CatalogTarget
from penstock.spark import checkpoints
from penstock.spark.commit import accounts
from penstock.spark.commit.accounts import AccountsTable
from penstock.spark.commit.batches import BatchCommitter, StreamStopped
from penstock.spark.commit.catalog import PARQUET, CatalogCalls, CatalogTable, TableFormat
from penstock.spark.commit.dead_letters import PARTITION_KEYS
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.commit.outputs import Outputs
from penstock.spark.commit.staging import Stager
from penstock.spark.commit.steps import BatchCommit, CommitContext, Tables
from penstock.spark.decode.versions import SchemaVersions, VersionSource
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.kafka import Credentials
from penstock.spark.metrics import BatchMetrics, MetricsFile
from penstock.spark.problems import is_replay_failure, to_penstock_error
from penstock.spark.running.job import run_alone
from penstock.spark.session import SessionSettings
from penstock.spark.sinks.kinds import SinkContext, open_sinks
from penstock.spark.sources.kinds import stream_source

__all__ = ["RunOptions", "RunReport", "run", "run_in_session", "session_settings"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 1
_RESTARTS = 2
_FINISH_SECONDS = 30.0  # the time limit of the current batch after a stop request


def _secret(secret_id: str) -> Credentials:
    found = broker_credentials(secret_id)
    return found.username, found.password


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run beside the declaration.

    ``jars``, ``master``, ``log``, ``lake``, ``driver_memory``, ``archive`` and ``spark_configuration`` are for a session
    that :func:`run` starts itself. ``once`` reads the available records and ends. ``stop`` ends the stream after the
    current batch when it is set. A session that :func:`run` starts is started again up to ``jvm_restarts`` times in a row
    if its JVM dies (None: the pipeline's ``batch_max_retries``); ``on_restart`` gets a sentence and the restarts so far.
    ``on_files`` gets the locations of each batch's published files. ``registry`` and
    ``catalog`` default to clients of the endpoint that the environment names, or AWS.
    """

    master: str = "local[*]"
    jars: Sequence[Path] = ()
    log: Path = Path("penstock-spark.log")
    lake: Path | None = None
    driver_memory: str = "1g"
    archive: Path | None = None
    spark_configuration: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    metrics: Path | None = None
    resume_from_ledger: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    registry: VersionSource | None = None
    catalog: CatalogCalls | None = None
    fetch_secret: Callable[[str], Credentials] = _secret
    on_files: Callable[[Sequence[str]], None] = lambda _: None
    on_batch: Callable[[BatchMetrics], None] = lambda _: None
    on_start: Callable[[], None] = lambda: None
    jvm_restarts: int | None = None
    on_restart: Callable[[str, int], None] = lambda *_: None
    failpoint: Failpoint = field(default_factory=Failpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of a run: committed batches, written rows, dead-lettered records.

    ``read`` counts the records that Spark's source emitted in the last 100 batches, each read of a record separately.
    """

    batches: int
    rows: int
    dead: int
    read: int
    stopped: bool


def run(pipeline: Pipeline, spark: SparkSession | None = None, options: RunOptions | None = None) -> RunReport:
    """Run ``pipeline`` until it is done or stopped, in ``spark`` or a session of its own.

    A session from the caller needs Spark's Kafka and Avro connectors, and for the embedded lake the configuration of
    :func:`penstock.spark.session.lake_configuration`. Raises a :class:`penstock.errors.PenstockError` that says why the
    stream ended: :class:`DataProblem` for drift, data loss or a checkpoint that does not fit the ledger,
    :class:`EnvironmentProblem` if a service cannot be reached, or (:class:`~penstock.spark.running.jvm.JvmDied`) if Spark's
    JVM died too often.
    """
    options = options or RunOptions()
    stream_source(pipeline.source, options.fetch_secret).check()
    if spark is None:
        return run_alone(pipeline, options, run_in_session, session_settings(options))
    return run_in_session(pipeline, spark, options)


def run_in_session(pipeline: Pipeline, spark: SparkSession, options: RunOptions) -> RunReport:
    """Run ``pipeline`` in ``spark``; raises as :func:`run` does."""
    try:
        return _Run(pipeline, spark, options).run()
    except Exception as error:
        problem = to_penstock_error(error, pipeline, log=str(options.log))
        _log.debug("pipeline %s failed", pipeline.name, exc_info=True)
        raise problem from error


def session_settings(options: RunOptions) -> SessionSettings:
    """Return the session's part of the options of a run."""
    return SessionSettings(
        master=options.master,
        jars=options.jars,
        log=options.log.absolute(),
        lake=options.lake,
        driver_memory=options.driver_memory,
        archive=options.archive,
        extra=options.spark_configuration,
    )


class _Run:
    """One run of one pipeline in one session."""

    def __init__(self, pipeline: Pipeline, spark: SparkSession, options: RunOptions) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._options = options
        self._files = HadoopFiles(spark)
        self._source = stream_source(pipeline.source, options.fetch_secret)
        self._writers = open_sinks(SinkContext(spark=spark, pipeline=pipeline, fetch_secret=options.fetch_secret))
        self._context = self._commit_context()

    def run(self) -> RunReport:
        starting = self._starting_offsets()
        committer = BatchCommitter(
            self._context,
            open_ledger=self._open_ledger,
            metrics=MetricsFile(self._options.metrics),
            on_batch=self._options.on_batch,
        )
        read, stopped, again = 0, False, _RESTARTS
        while True:
            query = self._start(committer, starting)
            self._options.on_start()
            before = committer.batches
            try:
                stopped = self._await(query, committer)
                break
            except Exception as error:
                if isinstance(committer.failure, StreamStopped):
                    stopped = True
                    break
                again = _RESTARTS if committer.batches > before + 1 else again - 1
                if committer.failure is not None or again < 0 or not is_replay_failure(error):
                    raise (committer.failure or error) from error
            finally:
                read += sum(int(progress["numInputRows"]) for progress in query.recentProgress)
        return RunReport(batches=committer.batches, rows=committer.rows, dead=committer.dead, read=read, stopped=stopped)

    def _await(self, query: StreamingQuery, committer: BatchCommitter) -> bool:
        """Wait for the end; return whether it was requested."""
        at_tip = _watch_tip(query) if self._once and not self._source.available_now else threading.Event()
        while not query.awaitTermination(_POLL_SECONDS):
            if at_tip.is_set() and query.exception() is None:
                query.stop()
                return False
            if self._options.stop.is_set():
                self._stop(query, committer)
                return True
        return False

    def _stop(self, query: StreamingQuery, committer: BatchCommitter) -> None:
        """Let the current batch end, or abandon it: the next start runs it again with the ledger."""
        committer.stopping.set()
        if not committer.wait_idle(_FINISH_SECONDS):
            self._spark.sparkContext.cancelJobGroup(str(query.runId))  # not those of other pipelines in this Spark
            committer.wait_idle(_FINISH_SECONDS)
        query.stop()

    def _ledger(self, query: str) -> Ledger:
        pipeline = self._pipeline
        return Ledger(
            self._files,
            table=pipeline.file_locations[0],
            also=pipeline.file_locations[1:],
            pipeline=pipeline.name,
            query=query,
        )

    def _starting_offsets(self) -> str | None:
        """Check that ledger and checkpoint belong together; return the starting offsets if the ledger determines them."""
        for path in checkpoints.remove_empty_files(self._files, self._pipeline.checkpoint, self._ledger("").last()):
            _log.warning("the checkpoint file %s was empty, as a power loss leaves it: removed", path)
        ledger = self._ledger(checkpoints.query_id(self._files, self._pipeline.checkpoint) or "")
        if self._options.resume_from_ledger and ledger.current_query() != ledger.query:
            self._finish_earlier(ledger.current_query())
            return checkpoints.resume_offsets(self._files, self._pipeline.checkpoint, ledger.last())
        checkpoints.check(self._files, self._pipeline.checkpoint, ledger)
        return None

    def _finish_earlier(self, query: str | None) -> None:
        """Roll forward batches that sinks may have of the query whose place this one takes."""
        if query is None or not self._writers:
            return
        ledger = self._ledger(query)
        ledger.open()
        metrics = BatchMetrics(pipeline=self._pipeline.name, query=query, batch=-1)
        nothing = Batch(-1, "{}", "{}")
        for number in ledger.finish(BatchCommit(self._context, self._spark, batch=nothing, ledger=ledger, metrics=metrics)):
            _log.warning("batch %d of the earlier query %s was completed", number, query)

    def _open_ledger(self) -> Ledger:
        query = checkpoints.query_id(self._files, self._pipeline.checkpoint)
        ledger = self._ledger(query or "")
        ledger.open(adopt=self._options.resume_from_ledger)
        return ledger

    def _commit_context(self) -> CommitContext:
        options, pipeline = self._options, self._pipeline
        jvm: Any = self._spark._jvm
        # Two attempts: a registry that hangs delays a batch by a minute; then known versions are used, or the batch retries.
        versions = SchemaVersions(options.registry or RegistryClient(attempts=2), pipeline.decode)
        # An unknown schema or reader is an error now, not at the first record.
        versions.refresh()
        versions.plan()
        accounts_location = pipeline.accounts_location
        return CommitContext(
            pipeline=pipeline,
            files=self._files,
            stager=Stager(pipeline, versions, self._files),
            tables=self._tables(accounts_location),
            source=self._source,
            outputs=Outputs(pipeline, self._writers),
            accounts=AccountsTable(self._files, pipeline, accounts_location),
            failpoint=options.failpoint,
            jvm=int(jvm.java.lang.ProcessHandle.current().pid()),
            on_files=options.on_files,
        )

    def _tables(self, accounts_location: str) -> Tables:
        pipeline = self._pipeline
        rows = {
            sink.name: self._table(sink.catalog, sink.location, sink.partition_by, PARQUET) for sink in pipeline.file_sinks
        }
        return Tables(
            rows={name: table for name, table in rows.items() if table is not None},
            dead=self._table(pipeline.dead_letters.catalog, pipeline.dead_letters.location, PARTITION_KEYS, PARQUET),
            accounts=self._table(pipeline.accounts.catalog, accounts_location, accounts.PARTITION_KEYS, PARQUET),
        )

    def _table(
        self, target: CatalogTarget | None, location: str, keys: Sequence[str], files: TableFormat
    ) -> CatalogTable | None:
        if target is None:
            return None
        client = self._options.catalog or CatalogClient()
        return CatalogTable(client, target, location=location, keys=keys, files=files, table_input=table_input)

    def _start(self, committer: BatchCommitter, starting: str | None) -> StreamingQuery:
        pipeline = self._pipeline
        # The transform's view and the commit's own conversions rely on these, also in a caller's session.
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        self._spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        records = self._source.read(self._spark, starting=starting)
        stream = records.writeStream.queryName(pipeline.name).foreachBatch(committer)
        return self._triggered(stream.option("checkpointLocation", pipeline.checkpoint)).start()

    @property
    def _once(self) -> bool:
        return self._options.once or self._pipeline.trigger.kind == "available_now"

    def _triggered(self, stream: DataStreamWriter) -> DataStreamWriter:
        if self._once:
            return stream.trigger(availableNow=True) if self._source.available_now else stream.trigger(processingTime="0s")
        return stream.trigger(processingTime=self._pipeline.trigger.interval)


def _watch_tip(query: StreamingQuery) -> threading.Event:
    """Return an event that is set once all records that were there have been committed, or the query has failed."""
    reached = threading.Event()

    def wait() -> None:
        # A failure is raised by awaitTermination.
        with contextlib.suppress(Exception):
            query.processAllAvailable()
        reached.set()

    threading.Thread(target=wait, name="tip", daemon=True).start()
    return reached
