"""A micro-batch from records to committed files: the steps in order, each safe to be killed in and run again."""

import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame

from penstock.errors import DataProblem, InvalidInput, NotFound, PenstockError
from penstock.lake.files import FileSystem
from penstock.lake.ledger import Batch, Ledger, Manifest, Move, plan_moves
from penstock.pipelines.model import Pipeline
from penstock.retries import MICRO_BATCH, RetryStopped, call_with_retries
from penstock.spark.checkpoints import batch_of, lost_offsets, record_count, sync_log
from penstock.spark.commit import drift
from penstock.spark.commit.catalog import CatalogTable
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.commit.staging import Staged, Stager, Staging
from penstock.spark.decode.versions import SchemaBook
from penstock.spark.metrics import BatchMetrics, MetricsFile
from penstock.spark.problems import is_of_the_data

__all__ = ["BatchCommitter", "StreamStopped", "Tables"]

_log = logging.getLogger(__name__)

_FINAL = (DataProblem, InvalidInput, NotFound, AnalysisException, ParseException)
"""Trying again cannot help."""

DEAD_COLUMNS = {
    "reason": "string",
    "message": "string",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "kafka_timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
    "schema_version_id": "string",
    "batch_id": "bigint",
    "pipeline": "string",
    "ingested_at": "timestamp",
    "date": "string",
}
"""The dead-letter table, with Hive types; partitioned by ``date``, the day (UTC) of the Kafka timestamp."""


class StreamStopped(PenstockError):
    """The stream was asked to end; nothing is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The catalog's tables, None where the catalog is not told."""

    rows: CatalogTable | None = None
    dead: CatalogTable | None = None


class BatchCommitter:
    """What ``foreachBatch`` calls. One batch at a time; ``failure`` keeps the error that ended the stream."""

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        files: FileSystem,
        book: SchemaBook,
        open_ledger: Callable[[], Ledger],
        tables: Tables,
        metrics: MetricsFile,
        failpoint: Failpoint,
        jvm: int | None,
        on_files: Callable[[Sequence[str]], None] = lambda _: None,
        on_batch: Callable[[BatchMetrics], None] = lambda _: None,
    ) -> None:
        self._pipeline = pipeline
        self._files = files
        self._book = book
        self._open_ledger = open_ledger
        self._opened: Ledger | None = None
        self._tables = tables
        self._metrics = metrics
        self._failpoint = failpoint
        self._jvm = jvm
        self._on_files = on_files
        self._on_batch = on_batch
        self._stager = Stager(pipeline, book, files)
        self._busy = threading.Lock()
        self.stopping = threading.Event()
        self.failure: Exception | None = None
        self.rows = 0
        self.dead = 0
        self.batches = 0

    def wait_idle(self, seconds: float) -> bool:
        """Wait for the batch in hand; whether it ended in time."""
        if self._busy.acquire(timeout=seconds):
            self._busy.release()
            return True
        return False

    def __call__(self, records: DataFrame, number: int) -> None:
        """Commit one batch, tried again up to ``batch_max_retries`` times with Glue's back-off."""
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
            return not isinstance(error, _FINAL) and not is_of_the_data(error) and not self.stopping.is_set()

        def note(error: Exception, failed: int, pause: float) -> None:
            _log.warning("batch %d failed, attempt %d, next in %.0f s: %s", number, failed, pause, error)

        policy = replace(MICRO_BATCH, attempts=self._pipeline.batch_max_retries + 1)
        try:
            call_with_retries(attempt, policy, when=may_pass, on_retry=note, stop=self.stopping)
        except RetryStopped:
            raise StreamStopped(f"Batch {number} was not begun: the stream is stopping.") from None

    def _attempt(self, records: DataFrame, number: int, attempt: int) -> None:
        ledger = self._ledger()
        # Spark's own log is not synced: a ledger that is would be ahead of it after a power loss.
        sync_log(self._files, self._pipeline.checkpoint, number)
        batch = batch_of(self._files, self._pipeline.checkpoint, number)
        metrics = BatchMetrics(pipeline=self._pipeline.name, query=ledger.query, batch=number, attempts=attempt)
        metrics.start_offsets, metrics.end_offsets = json.loads(batch.start), json.loads(batch.end)
        self._commit(records, batch, ledger, metrics)
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

    def _reach(self, point: str, batch: Batch) -> None:
        self._failpoint.reach(point, batch.id, self._jvm)

    def _commit(self, records: DataFrame, batch: Batch, ledger: Ledger, metrics: BatchMetrics) -> None:
        """The commit. A kill between or inside any two steps is made good by running it again with the same batch."""
        self._reach("batch-start", batch)
        state = ledger.state(batch)
        if state == "committed":
            if self._metrics.has(ledger.query, batch.id):
                metrics.outcome = "replayed"
            self._account(ledger.committed(batch), metrics)
            ledger.tidy(batch.id)
            return
        manifest = self._left_prepared(batch, ledger, metrics) if state == "prepared" else None
        if manifest is None:
            # 1. Stage the rows, counting as they pass.
            with metrics.step("stage"):
                staged = self._stage(records, batch, ledger, metrics)
            self._reach("after-stage", batch)
            # 2. Compare registry, catalog and rows.
            with metrics.step("drift"):
                self._check_drift(staged, batch, ledger, metrics)
            self._reach("after-drift", batch)
            # 3. Stage the dead letters, if there are any.
            with metrics.step("dead_letters"):
                staged = self._stage_dead(staged, batch, ledger, metrics)
            self._reach("after-dead-letters", batch)
            # 4. Write down what is to be published.
            with metrics.step("prepare"):
                manifest = self._manifest(staged, batch, ledger)
                ledger.prepare(manifest)
            self._reach("after-prepare", batch)
        # 5. Rename the files into the tables.
        with metrics.step("publish"):
            ledger.publish(manifest, lambda count: self._reach("mid-publish", batch) if count == 1 else None)
            self._on_files([move.final for move in manifest.moves])
        self._reach("after-publish", batch)
        # 6. Tell the catalog.
        with metrics.step("catalog"):
            self._tell_catalog(manifest)
        self._reach("after-catalog", batch)
        # 7. Commit. What comes after is housekeeping, and Spark's own checkpoint.
        with metrics.step("commit"):
            ledger.commit(manifest)
        self._reach("after-commit", batch)
        self._account(manifest, metrics)
        ledger.tidy(batch.id)

    def _left_prepared(self, batch: Batch, ledger: Ledger, metrics: BatchMetrics) -> Manifest | None:
        """The manifest a killed attempt left, if all of its files are there; otherwise its traces are removed."""
        manifest = ledger.resumable(batch)
        if manifest is None:
            ledger.roll_back(batch.id)
            return None
        metrics.rolled_forward = True
        return manifest

    def _stage(self, records: DataFrame, batch: Batch, ledger: Ledger, metrics: BatchMetrics) -> Staged:
        folder = ledger.staging(batch.id)
        with self._failpoint.watch("during-stage", batch.id, self._jvm, lambda: bool(self._files.walk(folder))):
            return self._stager.stage(records, _staging(batch, ledger), expected=record_count(batch), metrics=metrics)

    def _check_drift(self, staged: Staged, batch: Batch, ledger: Ledger, metrics: BatchMetrics) -> None:
        findings = drift.lost_fields(staged.seen, staged.plan.reader, staged.plan.reader_definition)
        table = self._tables.rows
        if table is not None and not table.creates:
            findings += drift.table_gaps(staged.columns, table.columns(), name=table.name)
        history = [manifest.facts for manifest in ledger.recent(drift.TRAILING)]
        findings += drift.null_jumps(staged.nulls, staged.rows, history, self._pipeline.drift)
        where = f"batch {batch.id} of {self._pipeline.name}, offsets {batch.start} to {batch.end}"
        metrics.warnings = drift.judge(findings, self._pipeline.drift, where=where)
        for warning in metrics.warnings:
            _log.warning("drift: %s: %s", where, warning)
        if not self._pipeline.source.fail_on_data_loss:
            for loss in lost_offsets(batch, staged.records):
                metrics.warnings.append(loss)
                _log.warning("data loss: batch %d of %s: %s", batch.id, self._pipeline.name, loss)

    @property
    def _dead_tombstones(self) -> bool:
        return self._pipeline.decode.tombstones == "dead-letter"

    def _stage_dead(self, staged: Staged, batch: Batch, ledger: Ledger, metrics: BatchMetrics) -> Staged:
        if not staged.dead(tombstones=self._dead_tombstones):
            return staged
        return self._stager.stage_dead(staged, _staging(batch, ledger), metrics=metrics)

    def _manifest(self, staged: Staged, batch: Batch, ledger: Ledger) -> Manifest:
        targets = (self._pipeline.sink.location, self._pipeline.dead_letters.location)
        dead = staged.dead(tombstones=self._dead_tombstones)
        moves: list[Move] = []
        partitions: dict[str, list[str]] = {}
        for number, (table, count) in enumerate(zip(targets, (staged.rows, dead), strict=True)):
            folder = ledger.staging(batch.id, number)
            found = self._files.walk(folder) if count else {}
            planned = plan_moves(found, folder=folder, table=table, query=ledger.query, batch=batch.id)
            moves.extend(planned)
            partitions[table] = sorted({move.final[len(table) + 1 :].rpartition("/")[0] for move in planned})
        facts = {
            "rows": staged.rows,
            "records": staged.records,
            "dead": dead,
            "tombstones": staged.reasons.get("TOMBSTONE", 0),
            "reasons": dict(staged.reasons),
            "versions": {str(number): count for number, count in staged.versions.items()},
            "nulls": dict(staged.nulls),
            "columns": dict(staged.columns),
            "oldest": staged.oldest,
        }
        return Manifest(batch=batch, moves=tuple(moves), partitions=partitions, facts=facts)

    def _tell_catalog(self, manifest: Manifest) -> None:
        facts, folders = manifest.facts, manifest.partitions
        if self._tables.rows is not None and facts["rows"]:
            self._tables.rows.land(facts["columns"], folders.get(self._pipeline.sink.location, ()))
        if self._tables.dead is not None and facts["dead"]:
            self._tables.dead.land(DEAD_COLUMNS, folders.get(self._pipeline.dead_letters.location, ()))

    def _account(self, manifest: Manifest, metrics: BatchMetrics) -> None:
        facts = manifest.facts
        metrics.records, metrics.rows, metrics.dead = facts["records"], facts["rows"], facts["dead"]
        metrics.tombstones, metrics.reasons, metrics.versions = facts["tombstones"], facts["reasons"], facts["versions"]
        metrics.nulls = {column: count for column, count in facts["nulls"].items() if count}
        metrics.files, metrics.file_bytes = len(manifest.moves), sum(move.size for move in manifest.moves)
        metrics.committed_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if facts["oldest"] is not None:
            metrics.max_latency_seconds = round(time.time() - facts["oldest"] / 1000, 3)


def _staging(batch: Batch, ledger: Ledger) -> Staging:
    return Staging(rows=ledger.staging(batch.id), dead=ledger.staging(batch.id, 1), batch=batch.id, now=datetime.now(UTC))
