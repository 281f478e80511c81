"""Stage a batch's rows: one pass over the source that decodes, counts and writes Parquet to a folder that readers skip.

A pass can find that another is needed: a version was registered after the list was read, or a first zlib payload came.
Then the staged files are dropped and the pass runs again; otherwise the source is read once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any
from uuid import UUID

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.errors import InvalidInput
from penstock.lake.files import FileSystem
from penstock.lake.ledger import Manifest
from penstock.pipelines.model import Pipeline
from penstock.pipelines.sinks.parquet import ParquetSink
from penstock.pipelines.transforms import Transform
from penstock.schema.version import SchemaVersion
from penstock.spark.commit.dead_letters import dead_letters, unknown_versions
from penstock.spark.commit.footer_counts import FileCounts
from penstock.spark.commit.reading import Reading, Readings
from penstock.spark.dead_letter_table import PARTITION_KEYS
from penstock.spark.decode.records import COUNTED_REASONS, REASONS, reason_counts, version_ids
from penstock.spark.decode.versions import DecodePlan, SchemaVersions
from penstock.spark.metrics import BatchMetrics
from penstock.spark.sinks.parquet import task_count, write_files
from penstock.spark.sources.port import METADATA
from penstock.spark.tables.shapes import hive_columns
from penstock.spark.transform.apply import TransformContext, Transformed, Transformer
from penstock.spark.transform.expectations import Findings

__all__ = ["Staged", "Stager", "Staging", "check_partitions"]

ROWS_PER_TASK = 50_000
"""Minimum number of records of a task that stages rows for several sinks."""

_MAX_PASSES = 8

_REJECTIONS = ("EXPECTATION", "LATE")
"""Reasons that the transform gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The staging of a batch: folders of its rows and dead letters, and the batch number and time in the dead letters.

    ``rows`` is the staging folder of the table where the pipeline has one sink of files; else of rows for all sinks.
    ``state`` is the folder for what later batches need, ``previous`` that of the last committed batch, None without one.
    ``row_bytes`` is the size of a row in the table's files of the last batches, None before the first.
    """

    rows: str
    dead: str
    state: str
    previous: str | None
    batch: int
    now: datetime
    row_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The result of one pass. ``versions`` (by number) counts records, ``nulls`` rows by column.

    ``dead`` counts the dead letters, ``reasons`` only some of their reasons until they are staged.
    """

    reading: Reading
    plan: DecodePlan
    rows: int
    records: int
    dead: int
    reasons: Mapping[str, int]
    versions: Mapping[int, int]
    nulls: Mapping[str, int]
    schema: StructType
    oldest: int | None  # milliseconds since the epoch
    transformed: Transformed
    findings: Findings
    quarantined: int = 0
    dead_written: bool = False

    @property
    def frame(self) -> DataFrame:
        """The records with version, reason and row."""
        return self.reading.frame

    @property
    def seen(self) -> list[SchemaVersion]:
        """The versions that records of the batch were written with."""
        return [version for version in self.plan.writers if self.versions.get(version.number)]

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns of the rows, without the records' metadata, to their Hive types."""
        return hive_columns(self.schema)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts for the batch's manifest."""
        return {
            "rows": self.rows,
            "records": self.records,
            "dead": self.dead + self.quarantined,
            "tombstones": self.reasons.get("TOMBSTONE", 0),
            "reasons": dict(self.reasons),
            "expectations": dict(self.findings.failed),
            "versions": {str(number): count for number, count in self.versions.items()},
            "nulls": dict(self.nulls),
            "columns": self.columns,
            "oldest": self.oldest,
            **self._inferred,
        }

    @property
    def _inferred(self) -> dict[str, Any]:
        """Return the schema that was inferred from the records, which the next run goes on with."""
        reader = self.plan.reader
        return {"inferred": {"number": reader.number, "definition": reader.definition}} if self.plan.inferred else {}


class Stager:
    """Decodes and stages the batches of one pipeline. It remembers whether payloads are compressed."""

    def __init__(
        self, pipeline: Pipeline, versions: SchemaVersions, files: FileSystem, transformer: Transformer | None = None
    ) -> None:
        self._pipeline = pipeline
        self._versions = versions
        self._transformer = transformer or Transformer(pipeline.transform, files=files)
        self._files = files
        self._skips_tombstones = pipeline.decode.tombstones == "skip"
        self._zlib = False
        self._recalled = False
        self._readings = Readings(branches=pipeline.decode.max_branches)
        self._counts = FileCounts(files)

    def stage(
        self,
        records: DataFrame,
        at: Staging,
        *,
        expected: int,
        metrics: BatchMetrics,
        fit: Callable[[DataFrame, SchemaVersion], DataFrame] = lambda rows, _: rows,
    ) -> Staged:
        """Write the readable rows of ``records`` (Kafka's columns) below ``at.rows``; at most ``expected`` records.

        ``fit`` gets the rows and the reader's version, and returns the rows to write.

        Raises the registry client's error if the registry is unavailable and a version of the batch is unknown.
        """
        self._versions.refresh()
        present = self._versions.likely()
        for _ in range(_MAX_PASSES):
            plan = self._versions.plan(present)
            staged = self._pass(records, plan, at, expected, fit)
            metrics.passes += 1
            if staged.reasons.get("NEEDS_INFLATE"):
                self._zlib = True
                staged.transformed.release()
                continue
            if staged.reasons.get("NEEDS_FRAMES"):
                self._versions.learn(records)
                staged.transformed.release()
                continue
            if staged.reasons.get("UNKNOWN_VERSION"):
                if present is not None:
                    metrics.passes += 1
                    versions = self._versions.known_of(version_ids(records, plan.writers))
                    if versions:
                        present = [*present, *versions]
                        staged.transformed.release()
                        continue
                staged, learnt = self._ask_for_unknown(staged, at, metrics)
                if learnt:
                    present = None if present is None else [*present, *learnt]
                    staged.transformed.release()
                    continue
            break
        self._versions.note(version.id for version in staged.seen)
        metrics.registry_stale = self._versions.stale
        try:
            # Only of the last pass: one that lacks rows, because it could not inflate them, says nothing about the batch.
            return replace(staged, findings=staged.transformed.findings())
        except BaseException:
            staged.transformed.release()
            raise

    def recall(self, last: Callable[[], Manifest | None]) -> None:
        """Go on with the inferred schema of the ``last`` committed batch; nothing where the schema is registered."""
        inferred = self._versions.inferred
        if inferred is not None and not self._recalled:
            manifest = last()
            inferred.recall({} if manifest is None else manifest.facts.get("inferred", {}))
            self._recalled = True

    def _ask_for_unknown(self, staged: Staged, at: Staging, metrics: BatchMetrics) -> tuple[Staged, list[UUID]]:
        """Return versions of the batch that the registry did not list before; if there are none, stage the dead letters.

        The dead letters must be written in any case, so the unknown ids are read from them and not from the source.
        """
        listed = self._versions.relist()
        if listed:
            return staged, listed
        staged = self.stage_dead(staged, at, metrics=metrics)
        return staged, self._versions.look_up(unknown_versions(staged.reading.records.sparkSession, at.dead))

    def _pass(
        self,
        records: DataFrame,
        plan: DecodePlan,
        at: Staging,
        expected: int,
        fit: Callable[[DataFrame, SchemaVersion], DataFrame],
    ) -> Staged:
        self._files.delete(at.rows)
        sink = self._pipeline.direct_sink
        tasks = max(1, math.ceil(expected / ROWS_PER_TASK))
        if sink is not None:
            parallelism = records.sparkSession.sparkContext.defaultParallelism
            tasks = task_count(sink, expected, row_bytes=at.row_bytes, parallelism=parallelism)
        reading = self._readings.read(records, plan, zlib=self._zlib)
        transformed = self._transformer.apply(
            reading.rows,
            TransformContext(
                pipeline=self._pipeline.name, batch=at.batch, now=at.now, reader=plan.reader, previous=at.previous
            ),
        )
        try:
            rows = transformed.rows if sink is None else transformed.rows.drop(*METADATA.values())
            output = fit(rows, plan.reader)
            self._readings.transformed(reading, output)
            as_read = output is rows and self._pipeline.transform == Transform()
            never = reading.never_null if as_read else frozenset[str]()
            return self._write(reading, transformed, output, at, tasks=tasks, never=never)
        except BaseException:
            transformed.release()
            raise

    def _write(
        self,
        reading: Reading,
        transformed: Transformed,
        output: DataFrame,
        at: Staging,
        *,
        tasks: int,
        never: frozenset[str],
    ) -> Staged:
        sink, plan = self._pipeline.direct_sink, reading.plan
        schema = output.schema
        columns = hive_columns(schema)
        if sink is not None:
            check_partitions(columns, sink, self._pipeline.name)
        counting = self._counts.of(schema, columns, never=never, apart=sink.partition_by if sink else ())
        output = counting.observed(output).coalesce(tasks)
        if sink is not None:
            write_files(output, sink, at.rows, row_bytes=at.row_bytes)
        else:
            output.write.mode("append").parquet(at.rows)
        rows, nulls = counting.read(at.rows, output.sparkSession)
        counts = reading.counts(rows)
        return Staged(
            reading=reading,
            plan=plan,
            rows=rows,
            records=int(counts["records"]),
            dead=int(counts["bad"]) - (int(counts["TOMBSTONE"]) if self._skips_tombstones else 0),
            reasons=_reasons(counts, COUNTED_REASONS),
            versions={
                version.number: int(counts[f"v{version.number}"]) for version in plan.writers if counts[f"v{version.number}"]
            },
            nulls=nulls,
            schema=schema,
            oldest=counts["oldest"],
            transformed=transformed,
            findings=Findings(),
        )

    def stage_dead(self, staged: Staged, at: Staging, *, metrics: BatchMetrics) -> Staged:
        """Write the dead letters below ``at.dead``, unless that is done; this reads the source once more."""
        if staged.dead_written:
            return staged
        self._files.delete(at.dead)
        counts = Observation()
        # The counting also keeps Spark from pushing the filter below the decode, which would then run twice.
        bad = staged.frame.observe(counts, *reason_counts(REASONS)).filter(F.col("_reason").isNotNull())
        if self._skips_tombstones:
            bad = bad.filter(F.col("_reason") != "TOMBSTONE")
        rows = dead_letters(bad, batch=at.batch, pipeline=self._pipeline.name, now=at.now).coalesce(1)
        writer = rows.write.mode("append").option("compression", "snappy")
        writer.partitionBy(*PARTITION_KEYS).parquet(at.dead)
        metrics.passes += 1
        return replace(staged, dead_written=True, reasons=_reasons(counts.get, REASONS))

    def stage_quarantined(self, staged: Staged, at: Staging, *, metrics: BatchMetrics) -> Staged:
        """Write the records of rows that the transform rejects to the dead letters; this reads the source once more."""
        rejected = staged.transformed.quarantined
        if rejected is None or not (self._pipeline.transform.stateful or staged.findings.failed):
            return staged
        if not staged.dead_written:
            self._files.delete(at.dead)
        counts = Observation()
        rejected_rows = _rejected(staged.frame, rejected)
        letters = dead_letters(rejected_rows, batch=at.batch, pipeline=self._pipeline.name, now=at.now)
        reasons = [F.count(F.when(F.col("reason") == reason, 1)).alias(reason) for reason in _REJECTIONS]
        writer = letters.observe(counts, *reasons).coalesce(1).write.mode("append").option("compression", "snappy")
        writer.partitionBy(*PARTITION_KEYS).parquet(at.dead)
        metrics.passes += 1
        rejections = _reasons(counts.get, _REJECTIONS)
        return replace(staged, quarantined=sum(rejections.values()), reasons={**staged.reasons, **rejections})


def _rejected(frame: DataFrame, rejected: DataFrame) -> DataFrame:
    """Return the records in ``frame`` whose rows were rejected, with ``_reason`` and ``_said``."""
    names = [name for name in rejected.columns if name not in {"reason", "message"}]
    marked = rejected.select(
        *(F.col(name).alias(f"_r_{name}") for name in names), F.col("reason").alias("_why"), F.col("message").alias("_said")
    )
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(f"_r_{name}")) for name in names))
    return frame.join(marked, same).withColumn("_reason", F.col("_why"))


def _reasons(counts: Mapping[str, Any], reasons: Sequence[str]) -> dict[str, int]:
    return {reason: int(counts[reason]) for reason in reasons if counts[reason]}


def check_partitions(columns: Mapping[str, Any], sink: ParquetSink, name: str) -> None:
    """Raise :class:`InvalidInput` if the sink partitions by a column that ``columns`` lacks."""
    lost = [key for key in sink.partition_by if key not in columns]
    if lost:
        raise InvalidInput(
            f"Pipeline {name}: there is no column '{lost[0]}' to partition by; the columns are {', '.join(columns)}.",
            remedy="Add it in transform.columns, or correct partition_by of the sink.",
        )
