"""Commit each micro-batch that Spark passes, and retry if that can help."""

import itertools
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame

from penstock.errors import DataProblem, InvalidInput, NotFound, PenstockError
from penstock.lake.ledger import Ledger
from penstock.retries import MICRO_BATCH, RetryStopped, call_with_retries
from penstock.spark.checkpoints import batch_of, sync_log
from penstock.spark.commit.steps import BatchCommit, CommitContext
from penstock.spark.jvm import lost_jvm
from penstock.spark.metrics import BatchMetrics, MetricsFile
from penstock.spark.problems import is_data_error
from penstock.spark.sources.byte_limit import ByteLimit
from penstock.spark.sources.port import LagMeter, lag_summary

__all__ = ["BatchCommitter", "StreamStopped"]

_log = logging.getLogger(__name__)

_FINAL = (DataProblem, InvalidInput, NotFound, AnalysisException, ParseException)
"""Errors for which a retry cannot help."""


class StreamStopped(PenstockError):
    """The stream is stopping on request; this is not a failure."""


class BatchCommitter:
    """The function of ``foreachBatch``. One batch at a time; ``failure`` is the error that ended the stream."""

    def __init__(
        self,
        context: CommitContext,
        *,
        open_ledger: Callable[[], Ledger],
        metrics: MetricsFile,
        on_batch: Callable[[BatchMetrics], None] = lambda _: None,
        lag: LagMeter | None = None,
        limit: ByteLimit | None = None,
    ) -> None:
        self._context = context
        self._pipeline = context.pipeline
        self._open_ledger = open_ledger
        self._opened: Ledger | None = None
        self._synced = False  # whether what Spark writes once was synced by this run
        self._metrics = metrics
        self._on_batch = on_batch
        self._lag = lag
        self._limit = limit
        self._busy = threading.Lock()
        self.stopping = threading.Event()
        self.failure: Exception | None = None
        self.rows = 0
        self.dead = 0
        self.batches = 0

    def wait_idle(self, seconds: float) -> bool:
        """Wait for the current batch; return whether it ended in time."""
        if self._busy.acquire(timeout=seconds):
            self._busy.release()
            return True
        return False

    def __call__(self, records: DataFrame, number: int) -> None:
        """Commit one batch; retry up to ``batch_max_retries`` times with Glue's back-off."""
        with self._busy:
            try:
                self._with_retries(records, number)
            except Exception as error:
                self.failure = error
                raise

    def _with_retries(self, records: DataFrame, number: int) -> None:
        attempts = itertools.count(1)

        def attempt() -> None:
            if self.stopping.is_set():
                raise StreamStopped(f"Batch {number} was not begun: the stream is stopping.")
            self._attempt(records, number, next(attempts))

        def may_pass(error: Exception) -> bool:
            if isinstance(error, _FINAL) or is_data_error(error) or self.stopping.is_set():
                return False
            return not lost_jvm(error)

        def note(error: Exception, failed: int, pause: float) -> None:
            _log.warning("batch %d failed, attempt %d, next in %.0f s: %s", number, failed, pause, error)

        policy = replace(MICRO_BATCH, attempts=self._pipeline.batch_max_retries + 1)
        try:
            call_with_retries(attempt, policy, when=may_pass, on_retry=note, stop=self.stopping)
        except RetryStopped:
            raise StreamStopped(f"Batch {number} was not begun: the stream is stopping.") from None

    def _attempt(self, records: DataFrame, number: int, attempt: int) -> None:
        ledger, files, checkpoint = self._ledger(), self._context.files, self._pipeline.checkpoint
        # Spark does not sync its own log, so the synced ledger could be ahead of it after a power loss.
        sync_log(files, checkpoint, number, first=not self._synced)
        self._synced = True
        batch = batch_of(files, checkpoint, number)
        metrics = BatchMetrics(pipeline=self._pipeline.name, query=ledger.query, batch=number, attempts=attempt)
        metrics.start_offsets, metrics.end_offsets = json.loads(batch.start), json.loads(batch.end)
        if self._limit is not None:
            records, counted = self._limit.watched(records)
        state = BatchCommit(self._context, records, batch=batch, ledger=ledger, metrics=metrics).run()
        if state == "committed" and self._metrics.has(ledger.query, number):
            metrics.outcome = "replayed"
        if self._limit is not None:
            metrics.record_bytes = self._limit.taken(counted)
        if self._lag is not None:
            metrics.lag = lag_summary(self._lag.measure(batch.end))
        self.batches += 1
        self.rows += metrics.rows
        self.dead += metrics.dead
        self._metrics.add(metrics)
        self._on_batch(metrics)

    def _ledger(self) -> Ledger:
        if self._opened is None:
            ledger = self._open_ledger()
            ledger.clear_staging()
            self._opened = ledger
        return self._opened
