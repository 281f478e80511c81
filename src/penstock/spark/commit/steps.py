"""The steps of one batch's commit on Spark: the hooks of :meth:`penstock.lake.ledger.Ledger.run`, timed."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import EnvironmentProblem
from penstock.lake.files import FileSystem
from penstock.lake.ledger import Batch, BatchState, CommitHooks, Ledger, Manifest, Move, plan_moves
from penstock.pipelines.model import Pipeline
from penstock.schema.version import SchemaVersion
from penstock.spark import dead_letter_table
from penstock.spark.commit import accounts, drift
from penstock.spark.commit.accounts import AccountsTable
from penstock.spark.commit.evolution import ReaderFields, SinkRows, TableChanges
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.commit.outputs import Delivery, Outputs, staged_rows
from penstock.spark.commit.staging import Staged, Stager, Staging
from penstock.spark.metrics import BatchMetrics
from penstock.spark.sinks.parquet import row_bytes
from penstock.spark.sources.port import StreamSource
from penstock.spark.tables.catalog import CatalogTable
from penstock.spark.tables.evolving import EvolvingTable, TableView
from penstock.spark.tables.parquet import ParquetTable

__all__ = ["BatchCommit", "CommitContext", "Tables", "complete_prepared"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The catalog's tables: of sinks of files, by the sink's name, of dead letters and of accounts.

    Those that are missing, or None, are not kept in the catalog.
    """

    rows: Mapping[str, CatalogTable] = field(default_factory=dict)
    dead: CatalogTable | None = None
    accounts: CatalogTable | None = None


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
    source: StreamSource
    outputs: Outputs
    accounts: AccountsTable
    failpoint: Failpoint
    jvm: int | None
    on_files: Callable[[Sequence[str]], None] = lambda _: None


def complete_prepared(context: CommitContext, spark: SparkSession, ledger: Ledger) -> list[int]:
    """Roll forward what an ended run left prepared in an open ledger, as :meth:`Ledger.finish`; return the batches."""
    no_batch = Batch(-1, "{}", "{}")
    metrics = BatchMetrics(pipeline=context.pipeline.name, query=ledger.query, batch=no_batch.id)
    return ledger.finish(BatchCommit(context, spark, batch=no_batch, ledger=ledger, metrics=metrics))


class BatchCommit(CommitHooks):
    """One attempt at one batch; ``metrics`` gets counts and the time of each step.

    ``records`` have the source's columns; a plain session instead of them is enough to roll a prepared batch forward.
    """

    def __init__(
        self,
        context: CommitContext,
        records: DataFrame | SparkSession,
        *,
        batch: Batch,
        ledger: Ledger,
        metrics: BatchMetrics,
    ) -> None:
        self._context = context
        self._pipeline = context.pipeline
        self._spark = records if isinstance(records, SparkSession) else records.sparkSession
        self._records = None if isinstance(records, SparkSession) else records
        self._batch = batch
        self._ledger = ledger
        self._metrics = metrics
        self._delivered: dict[str, Delivery] = {}
        self._changes = TableChanges(self._tables())
        self._reported: list[str] = []

    def _tables(self) -> dict[str, TableView]:
        """Return the tables whose columns are compared with the batch's, by sink."""
        tables: dict[str, TableView] = {
            sink.name: ParquetTable(sink, self._context.tables.rows.get(sink.name), partial(self._last, sink.name))
            for sink in self._pipeline.file_sinks
        }
        writers = self._context.outputs.writers
        return tables | {name: writer for name, writer in writers.items() if isinstance(writer, EvolvingTable)}

    def _last(self, sink: str) -> Mapping[str, str] | None:
        """Return the columns, to Hive types, of a table of files after the last batch; None before the first."""
        last = self._ledger.last()
        return None if last is None else last.facts.get("sinks", {}).get(sink, {}).get("table")

    def run(self) -> BatchState:
        """Commit the batch; return the state it was found in. Raises the errors of ledger, staging and drift policy."""
        self._hit("batch-start")
        state = self._ledger.run(self._batch, self._stage, self)
        self._metrics.rolled_forward = state == "prepared"
        return state

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
        self._context.on_files(self._ledger.placed(manifest))
        facts, folders, tables = manifest.facts, manifest.partitions, self._context.tables
        for sink in self._pipeline.file_sinks:
            table, gets = tables.rows.get(sink.name), facts["sinks"][sink.name]
            if table is not None and gets["rows"]:
                table.add_partitions(folders.get(sink.location, ()))
        if tables.dead is not None and facts["dead"]:
            tables.dead.sync(dead_letter_table.COLUMNS, folders.get(self._pipeline.dead_letters.location, ()))
        with self.step("accounts"):
            self._account(manifest)

    def extend_tables(self, manifest: Manifest) -> None:
        """Change the tables of files in the catalog that the batch's columns do not fit."""
        for sink in self._pipeline.file_sinks:
            table, gets = self._context.tables.rows.get(sink.name), manifest.facts["sinks"][sink.name]
            if table is not None and gets["rows"] and gets.get("evolves", True):
                with self.step("evolve"):
                    table.extend(gets.get("table") or gets["columns"])

    def publish_rows(self, manifest: Manifest) -> None:
        """Write the staged rows to the sinks that are not files."""
        self._delivered = self._context.outputs.publish(
            self._spark, manifest, self._ledger.query, self._changes, on_sink=self._on_sink
        )

    def _on_sink(self, count: int) -> None:
        """Hit the fail point after the first sink."""
        if count == 1:
            self._hit("mid-sinks")

    def _account(self, manifest: Manifest) -> None:
        """Write the batch's rows of accounts."""
        self._metrics.sinks = self._did(manifest)
        folder = self._context.accounts.write(manifest, self._metrics, self._metrics.sinks)
        if self._context.tables.accounts is not None:
            self._context.tables.accounts.sync(accounts.COLUMNS, [folder])

    def _did(self, manifest: Manifest) -> dict[str, dict[str, Any]]:
        """Return what each sink got and wrote."""
        actions: dict[str, dict[str, Any]] = {}
        for sink in self._pipeline.file_sinks:
            moves = [move for move in manifest.moves if move.final.startswith(f"{sink.location}/")]
            rows = manifest.facts["sinks"][sink.name]["rows"]
            size = sum(move.size for move in moves)
            actions[sink.name] = {"received": rows, "written": rows, "files": len(moves), "bytes": size}
        for name, delivery in self._delivered.items():
            actions[name] = delivery.facts
        return actions

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
        batch, direct = self._batch.id, self._pipeline.direct_sink
        at = Staging(
            rows=self._ledger.staging(batch) if direct is not None else self._ledger.rows_folder(batch),
            dead=self._ledger.staging(batch, self._number(self._pipeline.dead_letters.location)),
            state=self._ledger.state_folder(batch),
            previous=self._previous_state(),
            batch=batch,
            now=datetime.now(UTC),
            row_bytes=None if direct is None else row_bytes(self._ledger.recent(drift.TRAILING), direct),
        )
        with self.step("stage"):
            staged = self._stage_rows(at)
        try:
            return self._describe(staged, at)
        finally:
            staged.transformed.release()

    def _previous_state(self) -> str | None:
        last = self._ledger.last() if self._pipeline.transform.stateful else None
        return None if last is None else last.state

    def _describe(self, staged: Staged, at: Staging) -> Manifest:
        """Stage what follows from the rows, after the policies were asked, and describe all of it."""
        sinks = self._stage_files(staged, at)
        with self.step("drift"):
            self._check_drift(staged)
        with self.step("dead_letters"):
            if staged.dead:
                staged = self._context.stager.stage_dead(staged, at, metrics=self._metrics)
            staged = self._context.stager.stage_quarantined(staged, at, metrics=self._metrics)
        state = self.save_state(staged, at)
        with self._metrics.step("prepare"):
            return self._manifest(staged, sinks, at, state)

    def _stage_rows(self, at: Staging) -> Staged:
        context = self._context

        def has_begun() -> bool:
            return bool(context.files.walk(at.rows))

        with context.failpoint.watch("during-stage", self._batch.id, context.jvm, has_begun):
            assert self._records is not None
            expected = self._context.source.count(self._batch)
            context.stager.recall(self._ledger.last)
            return context.stager.stage(self._records, at, expected=expected, metrics=self._metrics, fit=self._fit)

    def _fit(self, rows: DataFrame, reader: SchemaVersion) -> DataFrame:
        """Return the rows to stage: where they are a table's files, under the table's names."""
        sink = self._pipeline.direct_sink
        return rows if sink is None else self._changes.fit(sink, rows, ReaderFields.of(reader))

    def _stage_files(self, staged: Staged, at: Staging) -> dict[str, SinkRows]:
        """Return what each sink of files gets; where rows were staged for all sinks, write its files first."""
        direct = self._pipeline.direct_sink
        if direct is not None:
            return {direct.name: self._changes.sink_rows(direct, staged.rows, staged.schema)}
        files = list(self._context.files.walk(at.rows))
        if not staged.rows or not files:
            return {sink.name: self._changes.sink_rows(sink, 0, staged.schema) for sink in self._pipeline.file_sinks}
        rows = staged_rows(self._spark, files, staged.schema)
        folders = {
            sink.name: self._ledger.staging(self._batch.id, self._number(sink.location))
            for sink in self._pipeline.file_sinks
        }
        with self.step("stage_files"):
            reader = ReaderFields.of(staged.plan.reader)
            self._context.outputs.plan_changes(rows, self._changes, reader)
            recent = self._ledger.recent(drift.TRAILING)
            return self._context.outputs.stage_files(rows, folders, self._changes, reader, before=recent)

    def _number(self, location: str) -> int:
        """Return the number of a table in the ledger."""
        return self._pipeline.file_locations.index(location)

    def _check_drift(self, staged: Staged) -> None:
        """Compare registry, tables, earlier batches and rows."""
        policy, batch, reader = self._pipeline.drift, self._batch, staged.plan.reader
        history = [manifest.facts for manifest in self._ledger.recent(drift.TRAILING)]
        reported = history[0].get("said", ()) if history else ()
        ignored = reported if policy.on_missing_field == "warn" else ()
        findings = drift.lost_fields(
            staged.seen, reader, staged.plan.reader_definition, reported=ignored, payloads=staged.plan.format
        )
        if staged.rows:
            findings += self._changes.findings(ReaderFields.of(reader))
        findings += drift.null_jumps(staged.nulls, staged.rows, history, policy)
        where = f"batch {batch.id} of {self._pipeline.name}, offsets {batch.start} to {batch.end}"
        self._metrics.warnings = [
            *drift.apply_policy(findings, policy, where=where, reported=reported),
            *staged.findings.warnings,
        ]
        for warning in self._metrics.warnings:
            _log.warning("drift: %s: %s", where, warning)
        for loss in self._context.source.lost(batch, staged.records):
            self._metrics.warnings.append(loss)
            _log.warning("data loss: batch %d of %s: %s", batch.id, self._pipeline.name, loss)
        self._reported = drift.reported_after(findings, policy, reported=reported)

    def save_state(self, staged: Staged, at: Staging) -> str | None:
        """Write what later batches need of this one; return its folder, None if they need nothing."""
        if not staged.transformed.stateful:
            return None
        with self.step("state"):
            self._context.files.delete(at.state)
            staged.transformed.save_state(at.state, self._context.files)
        return at.state

    def _manifest(self, staged: Staged, sinks: Mapping[str, SinkRows], at: Staging, state: str | None) -> Manifest:
        """Describe what was staged: files to rename, rows for the other sinks, facts."""
        moves: list[Move] = []
        partitions: dict[str, list[str]] = {}
        filled = {sink.location: sinks[sink.name].rows for sink in self._pipeline.file_sinks}
        filled[self._pipeline.dead_letters.location] = staged.dead + staged.quarantined
        for number, table in enumerate(self._pipeline.file_locations):
            folder = self._ledger.staging(self._batch.id, number)
            files = self._context.files.walk(folder) if filled[table] else {}
            planned = plan_moves(files, folder=folder, table=table, query=self._ledger.query, batch=self._batch.id)
            moves.extend(planned)
            partitions[table] = sorted({move.final[len(table) + 1 :].rpartition("/")[0] for move in planned})
        facts = {**staged.facts, "sinks": {name: rows.facts for name, rows in sinks.items()}}
        facts["staged_at"], facts["said"] = int(at.now.timestamp()), self._reported
        facts["reader"] = ReaderFields.of(staged.plan.reader).facts
        inputs: tuple[str, ...] = ()
        if self._context.outputs.writers and staged.rows:
            inputs = tuple(self._context.files.walk(at.rows))
            if not inputs:
                raise EnvironmentProblem(f"Batch {self._batch.id}: its {staged.rows:,} staged rows in {at.rows} are gone.")
            facts["rows_files"], facts["schema"] = list(inputs), staged.schema.jsonValue()
        if state is not None:
            inputs += tuple(self._context.files.walk(state))
        return Manifest(
            batch=self._batch, moves=tuple(moves), inputs=inputs, state=state, partitions=partitions, facts=facts
        )
