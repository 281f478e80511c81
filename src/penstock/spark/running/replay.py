"""Replay dead letters through a pipeline, each once: as a batch with its own ledger, beside that of the stream.

A letter is identified by its pipeline, its record's place in the source, and its attempt. The identities of replayed letters
are the ledger's state, so that they are recorded with the rows or not at all. A letter that fails again is a new one, with
the next attempt.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import NAMESPACE_URL, uuid5

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.errors import NotFound
from penstock.lake.ledger import Batch
from penstock.pipelines.model import Pipeline
from penstock.spark.commit.staging import Staged, Staging
from penstock.spark.commit.steps import BatchCommit, complete_prepared
from penstock.spark.dead_letter_table import COLUMNS
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.assembly import commit_context, ledger_of
from penstock.spark.running.options import RunOptions
from penstock.spark.sources.port import OPTIONAL_COLUMNS, RECORD_COLUMNS

__all__ = ["LetterSelection", "ReplayReport", "replay"]

_IDS = "letters"
_SCHEMA = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterSelection:
    """Which letters: those below ``location``, of ``reasons`` and ``dates`` (``2026-01-31``; empty is all of them).

    At most ``limit`` are replayed.
    """

    location: str
    reasons: Sequence[str] = ()
    dates: Sequence[str] = ()
    limit: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The result: ``selected`` letters that were not replayed before, the ``rows`` of them, and those ``dead`` again.

    ``completed`` counts batches of an earlier, killed replay that were completed first.
    """

    selected: int
    rows: int
    dead: int
    completed: int


class _Letters:
    """The source of one replay; a :class:`~penstock.spark.sources.port.StreamSource` without a stream."""

    def __init__(self, location: str) -> None:
        self.description = f"dead letters in {location}"
        self.available_now = True
        self.number = 0

    def check(self) -> None:
        """Nothing is connected to."""

    def read(self, spark: SparkSession, *, starting: str | None) -> DataFrame:
        """Dead letters are not a stream."""
        raise NotImplementedError

    def count(self, batch: Batch) -> int:  # noqa: ARG002
        """Return the number of selected letters."""
        return self.number

    def lost(self, batch: Batch, records: int) -> list[str]:  # noqa: ARG002
        """No letter is lost."""
        return []


class _ReplayCommit(BatchCommit):
    """A batch of letters, with their identities as state."""

    def __init__(self, *parts: object, ids: DataFrame, **named: object) -> None:
        super().__init__(*parts, **named)  # type: ignore[arg-type]
        self._ids = ids

    def save_state(self, staged: Staged, at: Staging) -> str | None:
        """Write the identities of all letters that were replayed, these among them."""
        super().save_state(staged, at)
        self._ids.coalesce(1).write.mode("overwrite").parquet(f"{at.state}/{_IDS}")
        return at.state


def replay(pipeline: Pipeline, spark: SparkSession, options: RunOptions, selection: LetterSelection) -> ReplayReport:
    """Put selected dead letters through ``pipeline`` as it is declared now, each once.

    After a kill the next replay completes the batch. Raises the errors of a batch (drift, sinks), with nothing committed,
    and :class:`NotFound` if there are no dead letters at ``selection.location``.
    """
    files = HadoopFiles(spark)
    ours = replace(
        pipeline,
        name=f"{pipeline.name}.replay"[:100],
        accounts=replace(pipeline.accounts, location=pipeline.accounts_location),
    )
    source = _Letters(selection.location)
    context = commit_context(ours, spark, options, files=files, source=source)
    ledger = ledger_of(files, ours, uuid5(NAMESPACE_URL, f"penstock:replay:{pipeline.name}").hex)
    ledger.open()
    completed = len(complete_prepared(context, spark, ledger))
    ledger.clear_staging()
    if not any(path.endswith(".parquet") and "/_penstock/" not in path for path in files.walk(selection.location)):
        raise NotFound(f"There are no dead letters in {selection.location}.")
    last = ledger.last()
    before = None if last is None or last.state is None else spark.read.parquet(f"{last.state}/{_IDS}")
    letters = _selected(spark, selection, before).persist()
    try:
        source.number = letters.count()
        if not source.number:
            return ReplayReport(selected=0, rows=0, dead=0, completed=completed)
        number = 0 if last is None else last.batch.id + 1
        batch = Batch(number, "{}", json.dumps({"letters": source.number, "location": selection.location}))
        metrics = BatchMetrics(pipeline=ours.name, query=ledger.query, batch=number)
        ids = letters.select("_id") if before is None else before.unionByName(letters.select("_id"))
        parts = {"batch": batch, "ledger": ledger, "metrics": metrics}
        _ReplayCommit(context, _records(letters), **parts, ids=ids).run()
        options.on_batch(metrics)
        return ReplayReport(selected=source.number, rows=metrics.rows, dead=metrics.dead, completed=completed)
    finally:
        letters.unpersist()


def _selected(spark: SparkSession, selection: LetterSelection, before: DataFrame | None) -> DataFrame:
    """Return the letters with their identity, without those that were replayed."""
    letters = spark.read.schema(_SCHEMA).parquet(selection.location).withColumn("_id", _identity())
    if selection.reasons:
        letters = letters.filter(F.col("reason").isin(list(selection.reasons)))
    if selection.dates:
        letters = letters.filter(F.col("date").isin(list(selection.dates)))
    if before is not None:
        letters = letters.join(before, "_id", "left_anti")
    return letters.dropDuplicates(["_id"]).limit(selection.limit)


def _identity() -> Column:
    position = F.coalesce(F.col("sequence"), F.col("offset").cast("string"), F.sha2("value", 256))
    parts = [F.col(name).cast("string") for name in ("pipeline", "topic", "partition")]
    moment = F.unix_micros("kafka_timestamp").cast("string")
    attempt = F.coalesce(F.col("attempt"), F.lit(0)).cast("string")
    return F.concat_ws("|", *parts, position, moment, attempt)


def _records(letters: DataFrame) -> DataFrame:
    """Return the letters as records of a source."""
    columns = {"timestamp": F.col("kafka_timestamp")}
    names = [*RECORD_COLUMNS, *OPTIONAL_COLUMNS]
    attempt = F.coalesce(F.col("attempt"), F.lit(0)).alias("attempt")
    return letters.select(*(columns.get(name, F.col(name)).alias(name) for name in names), attempt)
