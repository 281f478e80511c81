"""Run a declared pipeline: start or use a Spark session, check the checkpoint, stream until done, stopped or failed."""

import contextlib
import logging
import threading
from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.lake.ledger import Ledger
from penstock.pipelines.model import Pipeline
from penstock.spark import checkpoints
from penstock.spark.commit.batches import BatchCommitter, StreamStopped
from penstock.spark.commit.steps import complete_prepared
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.metrics import MetricsFile
from penstock.spark.problems import is_replay_failure, to_penstock_error
from penstock.spark.running.assembly import commit_context, ledger_of
from penstock.spark.running.job import run_alone
from penstock.spark.running.options import RunOptions, RunReport
from penstock.spark.running.upgrade import check_upgrade, remember
from penstock.spark.session import SessionSettings
from penstock.spark.sources.byte_limit import ByteLimit
from penstock.spark.sources.kafka import KafkaStream
from penstock.spark.sources.kinds import stream_source
from penstock.spark.sources.port import MeasuresLag

__all__ = ["RunOptions", "RunReport", "run", "run_in_session", "session_settings"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 1
_RESTARTS = 2
_FINISH_SECONDS = 30.0  # the time limit of the current batch after a stop request


def run(pipeline: Pipeline, spark: SparkSession | None = None, options: RunOptions | None = None) -> RunReport:
    """Run ``pipeline`` until it is done or stopped, in ``spark`` or in a new session.

    A session from the caller needs Spark's Kafka and Avro connectors, and for the embedded lake the configuration of
    :func:`penstock.spark.session.lake_configuration`. Raises a :class:`penstock.errors.PenstockError` that says why the
    stream ended: :class:`DataProblem` for drift, data loss or a checkpoint that does not fit the ledger,
    :class:`EnvironmentProblem` if a service cannot be reached, or (:class:`~penstock.spark.jvm.JvmDied`) if Spark's
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
        more_jars=options.more_jars,
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
        self._lag = self._source.open_lag(spark) if isinstance(self._source, MeasuresLag) else None
        self._context = commit_context(pipeline, spark, options, files=self._files, source=self._source)

    def run(self) -> RunReport:
        """Run until done or stopped."""
        try:
            return self._run()
        finally:
            if self._lag is not None:
                self._lag.close()

    def _run(self) -> RunReport:
        starting = self._starting_offsets()
        committer = BatchCommitter(
            self._context,
            open_ledger=self._open_ledger,
            metrics=MetricsFile(self._options.metrics),
            on_batch=self._options.on_batch,
            lag=self._lag,
            limit=self._byte_limit(),
        )
        try:
            return self._stream(committer, starting)
        finally:
            self._end(committer)

    def _stream(self, committer: BatchCommitter, starting: str | None) -> RunReport:
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
                read += _read(query)
        return RunReport(batches=committer.batches, rows=committer.rows, dead=committer.dead, read=read, stopped=stopped)

    def _end(self, committer: BatchCommitter) -> None:
        """Wait for what a batch still does after the stream's end: its JVM may be dead, and another one starts next."""
        committer.stopping.set()
        committer.wait_idle(_FINISH_SECONDS)

    def _byte_limit(self) -> ByteLimit | None:
        source = self._source
        return source.byte_limit(self._spark, self._pipeline.name) if isinstance(source, KafkaStream) else None

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

    def _starting_offsets(self) -> str | None:
        """Check that ledger and checkpoint belong together; return the starting offsets if the ledger determines them."""
        for change in check_upgrade(self._files, self._pipeline):
            _log.warning("pipeline %s: %s", self._pipeline.name, change)
        last = ledger_of(self._files, self._pipeline, "").last()
        for path in checkpoints.remove_empty_files(self._files, self._pipeline.checkpoint, last):
            _log.warning("the checkpoint file %s was empty, as a power loss leaves it: removed", path)
        ledger = ledger_of(self._files, self._pipeline, checkpoints.query_id(self._files, self._pipeline.checkpoint) or "")
        if self._options.resume_from_ledger and ledger.current_query() != ledger.query:
            self._finish_earlier(ledger.current_query())
            return checkpoints.resume_offsets(self._files, self._pipeline.checkpoint, ledger.last())
        checkpoints.check(self._files, self._pipeline.checkpoint, ledger)
        return None

    def _finish_earlier(self, query: str | None) -> None:
        """Roll forward batches that sinks may have of the query whose place this one takes."""
        if query is None or not self._context.outputs.writers:
            return
        ledger = ledger_of(self._files, self._pipeline, query)
        ledger.open()
        for number in complete_prepared(self._context, self._spark, ledger):
            _log.warning("batch %d of the earlier query %s was completed", number, query)

    def _open_ledger(self) -> Ledger:
        query = checkpoints.query_id(self._files, self._pipeline.checkpoint)
        ledger = ledger_of(self._files, self._pipeline, query or "")
        ledger.open(adopt=self._options.resume_from_ledger)
        remember(ledger, self._pipeline)
        return ledger

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
            return (
                stream.trigger(availableNow=True)
                if self._source.available_now
                else stream.trigger(processingTime="0 seconds")
            )
        return stream.trigger(processingTime=self._pipeline.trigger.interval)


def _read(query: StreamingQuery) -> int:
    """Return how many records the source gave, in the progress that Spark keeps; 0 if the JVM is gone."""
    with suppress(Py4JError):
        return sum(int(progress["numInputRows"]) for progress in query.recentProgress)
    return 0


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
