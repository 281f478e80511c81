"""The steps of one batch's commit on Spark: the hooks of :meth:`penstock.lake.ledger.Ledger.run`, timed."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from penstock.lake.files import FileSystem
from penstock.lake.ledger import Batch, BatchState, CommitHooks, Ledger, Manifest, Move, plan_moves
from penstock.pipelines.model import Pipeline
from penstock.spark.checkpoints import lost_offsets, record_count
from penstock.spark.commit import dead_letters, drift
from penstock.spark.commit.catalog import CatalogTable
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.commit.staging import Staged, Stager, Staging
from penstock.spark.metrics import BatchMetrics

__all__ = ["BatchCommit", "CommitContext", "Tables"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The catalog's tables of rows and of dead letters, None if the catalog is not updated."""

    rows: CatalogTable | None = None
    dead: CatalogTable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContext:
    """The context that all commits of a run share.

    ``jvm`` is the process id of Spark's JVM, which a fail point kills, too. ``on_files`` gets the locations of published
    files.
    """

    pipeline: Pipeline
    files: FileSystem
    stager: Stager
    tables: Tables
    failpoint: Failpoint
    jvm: int | None
    on_files: Callable[[Sequence[str]], None] = lambda _: None


class BatchCommit(CommitHooks):
    """One attempt at one batch. ``records`` have Kafka's columns; ``metrics`` gets counts and the time of each step."""

    def __init__(
        self, context: CommitContext, records: DataFrame, *, batch: Batch, ledger: Ledger, metrics: BatchMetrics
    ) -> None:
        self._context = context
        self._pipeline = context.pipeline
        self._records = records
        self._batch = batch
        self._ledger = ledger
        self._metrics = metrics

    def run(self) -> BatchState:
        """Commit the batch; return the state it was found in. Raises the errors of ledger, staging and drift policy."""
        self._hit("batch-start")
        found = self._ledger.run(self._batch, self._stage, self)
        self._metrics.rolled_forward = found == "prepared"
        return found

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the step, and hit the fail point after it."""
        with self._metrics.step(name):
            yield
        self._hit(f"after-{name.replace('_', '-')}")

    def moved(self, count: int) -> None:
        """Hit the fail point after the first file."""
        if count == 1:
            self._hit("mid-publish")

    def update_catalog(self, manifest: Manifest) -> None:
        """Create or extend the tables, and add the partitions of the new files."""
        self._context.on_files([move.final for move in manifest.moves])
        facts, folders, tables = manifest.facts, manifest.partitions, self._context.tables
        if tables.rows is not None and facts["rows"]:
            tables.rows.sync(facts["columns"], folders.get(self._pipeline.ledger_location, ()))
        if tables.dead is not None and facts["dead"]:
            tables.dead.sync(dead_letters.COLUMNS, folders.get(self._pipeline.dead_letters.location, ()))

    def committed(self, manifest: Manifest) -> None:
        """Count the records of the batch."""
        facts, metrics = manifest.facts, self._metrics
        metrics.records, metrics.rows, metrics.dead = facts["records"], facts["rows"], facts["dead"]
        metrics.tombstones, metrics.reasons, metrics.versions = facts["tombstones"], facts["reasons"], facts["versions"]
        metrics.nulls = {column: count for column, count in facts["nulls"].items() if count}
        metrics.files, metrics.file_bytes = len(manifest.moves), sum(move.size for move in manifest.moves)
        metrics.committed_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if facts["oldest"] is not None:
            metrics.max_latency_seconds = round(time.time() - facts["oldest"] / 1000, 3)

    def _hit(self, point: str) -> None:
        self._context.failpoint.hit(point, self._batch.id, self._context.jvm)

    def _stage(self) -> Manifest:
        """Stage rows and dead letters, and describe them."""
        at = Staging(
            rows=self._ledger.staging(self._batch.id),
            dead=self._ledger.staging(self._batch.id, 1),
            batch=self._batch.id,
            now=datetime.now(UTC),
        )
        with self.step("stage"):
            staged = self._stage_rows(at)
        with self.step("drift"):
            self._check_drift(staged)
        with self.step("dead_letters"):
            if staged.dead:
                staged = self._context.stager.stage_dead(staged, at, metrics=self._metrics)
        with self._metrics.step("prepare"):
            return self._manifest(staged)

    def _stage_rows(self, at: Staging) -> Staged:
        context = self._context

        def has_begun() -> bool:
            return bool(context.files.walk(at.rows))

        with context.failpoint.watch("during-stage", self._batch.id, context.jvm, has_begun):
            expected = record_count(self._batch)
            return context.stager.stage(self._records, at, expected=expected, metrics=self._metrics)

    def _check_drift(self, staged: Staged) -> None:
        """Compare registry, catalog, earlier batches and rows."""
        policy, batch, table = self._pipeline.drift, self._batch, self._context.tables.rows
        findings = drift.lost_fields(staged.seen, staged.plan.reader, staged.plan.reader_definition)
        if table is not None and not table.creates:
            findings += drift.table_gaps(staged.columns, table.columns(), name=table.name)
        history = [manifest.facts for manifest in self._ledger.recent(drift.TRAILING)]
        findings += drift.null_jumps(staged.nulls, staged.rows, history, policy)
        where = f"batch {batch.id} of {self._pipeline.name}, offsets {batch.start} to {batch.end}"
        self._metrics.warnings = drift.apply_policy(findings, policy, where=where)
        for warning in self._metrics.warnings:
            _log.warning("drift: %s: %s", where, warning)
        if not self._pipeline.source.fail_on_data_loss:
            for loss in lost_offsets(batch, staged.records):
                self._metrics.warnings.append(loss)
                _log.warning("data loss: batch %d of %s: %s", batch.id, self._pipeline.name, loss)

    def _manifest(self, staged: Staged) -> Manifest:
        targets = (self._pipeline.ledger_location, self._pipeline.dead_letters.location)
        moves: list[Move] = []
        partitions: dict[str, list[str]] = {}
        for number, (table, count) in enumerate(zip(targets, (staged.rows, staged.dead), strict=True)):
            folder = self._ledger.staging(self._batch.id, number)
            found = self._context.files.walk(folder) if count else {}
            planned = plan_moves(found, folder=folder, table=table, query=self._ledger.query, batch=self._batch.id)
            moves.extend(planned)
            partitions[table] = sorted({move.final[len(table) + 1 :].rpartition("/")[0] for move in planned})
        return Manifest(batch=self._batch, moves=tuple(moves), partitions=partitions, facts=staged.facts)
