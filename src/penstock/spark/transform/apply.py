"""One batch's decoded rows through the declared transform: masks, steps, query, columns, expectations."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.errors import InvalidInput
from penstock.lake.files import FileSystem
from penstock.pipelines.transforms import DeduplicateStep, PythonStep, SqlStep, Transform, WindowStep
from penstock.schema.version import SchemaVersion
from penstock.spark.transform import expectations
from penstock.spark.transform.expectations import FLAG, Findings
from penstock.spark.transform.functions import load_function
from penstock.spark.transform.masks import field_tags, masked, masked_paths
from penstock.spark.transform.state import deduplicate, later_watermark, windows
from penstock.spark.transform.tables import CatalogTables

__all__ = ["QUARANTINE", "StepContext", "TransformContext", "Transformed", "Transformer"]

QUARANTINE: Mapping[str, str] = {"topic": "_topic", "partition": "_partition", "offset": "_offset", "sequence": "_sequence"}
"""The columns that identify a quarantined row's record (as far as the source has them), to their names in the rows."""

_STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformContext:
    """What a batch's transform needs of its surroundings.

    ``reader`` is the reader schema, whose tags are masked. ``previous`` is the state folder of the last committed batch,
    None for the first one. ``now`` is when the batch was begun.
    """

    pipeline: str
    batch: int
    now: datetime
    reader: SchemaVersion | None = None
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What a Python step gets: the batch's number and time, the session, and ``table``, which reads ``DATABASE.TABLE``."""

    pipeline: str
    batch: int
    now: datetime
    spark: SparkSession
    table: Callable[[str], DataFrame]


@dataclass(slots=True, kw_only=True)
class Transformed:
    """The rows of one batch after the transform.

    ``rows`` are the good ones, with those of the source's metadata columns that the steps kept. ``quarantined`` has
    :data:`QUARANTINE`'s identification (``topic``, ``partition``, ``offset``, ``sequence``), ``reason`` (``EXPECTATION``
    or ``LATE``) and ``message``; None if no row can be. Call :meth:`findings` and :meth:`save_state` after an action on
    ``rows``, and :meth:`release` at the end, also after a failure.
    """

    rows: DataFrame
    quarantined: DataFrame | None = None
    where: str = ""
    _transform: Transform = field(default_factory=Transform)
    _counts: Observation | None = None
    _states: dict[str, tuple[DataFrame, int | None]] = field(default_factory=dict)
    _kept: list[DataFrame] = field(default_factory=list)

    def findings(self) -> Findings:
        """Return the counts of failed expectations. Raises :class:`ExpectationStop` where one stops the stream."""
        if self._counts is None:
            return Findings()
        return expectations.evaluate(self._transform.expect, self._counts.get, where=self.where)

    @property
    def stateful(self) -> bool:
        """Whether :meth:`save_state` writes something."""
        return bool(self._states)

    def save_state(self, folder: str, files: FileSystem) -> None:
        """Write what the next batches need below ``folder``, which is empty or does not exist."""
        facts = {}
        for name, (rows, watermark) in self._states.items():
            rows.coalesce(1).write.mode("overwrite").parquet(f"{folder}/{name}")
            facts[name] = {"watermark": watermark, "schema": rows.schema.jsonValue()}
        if facts:
            files.write(f"{folder}/{_STATE_FILE}", json.dumps(facts).encode())

    def release(self) -> None:
        """Forget the rows that were kept in memory."""
        for frame in self._kept:
            frame.unpersist()


class Transformer:
    """The transform of one pipeline in one run. It loads Python steps at once.

    ``key`` is that of masks with ``hash``; ``files`` reads the state of earlier batches.
    """

    def __init__(
        self,
        transform: Transform,
        *,
        tables: CatalogTables | None = None,
        files: FileSystem | None = None,
        fetch_text: Callable[[str], str] | None = None,
    ) -> None:
        self._transform = transform
        self._tables = tables or CatalogTables(None)
        self._files = files
        self._functions = {step.name: load_function(step) for step in transform.steps if isinstance(step, PythonStep)}
        mask = transform.mask
        key = None if mask is None else mask.key
        if mask is not None and key is None and mask.secret is not None and fetch_text is not None:
            key = fetch_text(mask.secret)
        self._key = None if key is None else key.encode()
        self._paths: tuple[SchemaVersion | None, dict[str, Any]] = (None, {})

    def apply(self, records: DataFrame, context: TransformContext) -> Transformed:
        """Return the batch's rows. ``records`` are the decoded rows with metadata columns, the view ``records``.

        Raises Spark's AnalysisException for SQL that does not fit the rows, :class:`InvalidInput` for other settings.
        """
        transform = self._transform
        if transform.mask is not None:
            records = masked(records, self._actions(context.reader), self._key)
        transformed = Transformed(rows=records, where=f"batch {context.batch} of {context.pipeline}", _transform=transform)
        late: list[DataFrame] = []
        try:
            rows = self._steps(records, context, transformed, late)
            if transform.sql:
                rows = records.sparkSession.sql(self._tables.bound(records.sparkSession, transform.sql))
            for name, expression in transform.columns.items():
                rows = rows.withColumn(name, F.expr(expression))
            self._expect(rows, transformed, late)
        except BaseException:
            transformed.release()
            raise
        return transformed

    def _actions(self, reader: SchemaVersion | None) -> Mapping[str, Any]:
        mask = self._transform.mask
        assert mask is not None
        if self._paths[0] is not reader or not self._paths[1]:
            self._paths = (reader, dict(masked_paths(mask, {} if reader is None else field_tags(reader))))
        return self._paths[1]

    def _steps(
        self, records: DataFrame, context: TransformContext, transformed: Transformed, late: list[DataFrame]
    ) -> DataFrame:
        """Run the steps; each makes a view of its name. Returns the last one's rows."""
        spark = records.sparkSession
        if self._transform.sql or self._transform.steps:
            records.createOrReplaceTempView("records")
        views, rows = {"records": records}, records
        before = self._state(context.previous)
        for step in self._transform.steps:
            input_rows = views[step.source] if not isinstance(step, SqlStep) and step.source else rows
            match step:
                case SqlStep():
                    rows = spark.sql(self._tables.bound(spark, step.sql))
                case PythonStep():
                    rows = self._call(step, input_rows, context)
                case DeduplicateStep() | WindowStep():
                    rows = self._stateful(step, input_rows, before, transformed, late)
            rows.createOrReplaceTempView(step.name)
            views[step.name] = rows
        return rows

    def _call(self, step: PythonStep, rows: DataFrame, context: TransformContext) -> DataFrame:
        spark = rows.sparkSession

        def table(name: str) -> DataFrame:
            database, _, table_name = name.partition(".")
            return self._tables.frame(spark, database, table_name)

        step_context = StepContext(pipeline=context.pipeline, batch=context.batch, now=context.now, spark=spark, table=table)
        result = self._functions[step.name](rows, step_context)
        if not isinstance(result, DataFrame):
            raise InvalidInput(f"Step {step.name}: {step.function} returned {type(result).__name__}, not a DataFrame.")
        return result

    def _state(self, folder: str | None) -> dict[str, Any]:
        if folder is None or self._files is None or not self._transform.stateful:
            return {}
        try:
            facts = json.loads(self._files.read(f"{folder}/{_STATE_FILE}"))
        except FileNotFoundError:
            return {}
        return {name: {**fact, "folder": f"{folder}/{name}"} for name, fact in facts.items()}

    def _stateful(
        self,
        step: DeduplicateStep | WindowStep,
        rows: DataFrame,
        states: Mapping[str, Any],
        transformed: Transformed,
        late: list[DataFrame],
    ) -> DataFrame:
        spark = rows.sparkSession
        earlier = states.get(step.name)
        before = None if earlier is None else earlier["watermark"]
        state = None
        if earlier is not None:
            reader = spark.read.schema(StructType.fromJson(earlier["schema"]))
            state = reader.parquet(earlier["folder"])
        # Read by several actions, which must see the same rows: the watermark, what comes out, the state.
        rows = _keep(rows, transformed)
        after = later_watermark(rows, step, before)
        function: Any = deduplicate if isinstance(step, DeduplicateStep) else windows
        stepped = function(state, rows, step, before=before, after=after)
        if step.late == "dead-letter":
            message = F.lit(f"Step {step.name}: the row's {step.time} is null, or more than {step.watermark} late.")
            late.append(_identified(stepped.late, F.lit("LATE"), message, f"Step {step.name} with late: dead-letter"))
        transformed._states[step.name] = (stepped.state, after)
        return _keep(stepped.rows, transformed) if isinstance(step, DeduplicateStep) else stepped.rows

    def _expect(self, rows: DataFrame, transformed: Transformed, late: list[DataFrame]) -> None:
        expect = self._transform.expect
        if expect:
            transformed._counts = Observation()
            rows = expectations.observed(rows, expect, transformed._counts)
        if any(expectation.on_failure == "quarantine" for expectation in expect):
            # Good and bad rows are read by two actions, which must agree also where a predicate is not deterministic.
            flagged = _keep(expectations.flagged(rows, expect), transformed)
            rows = flagged.filter(F.col(FLAG).isNull()).drop(FLAG)
            message = F.concat(F.lit("The row fails the expectation "), F.col(FLAG), F.lit("."))
            bad = flagged.filter(F.col(FLAG).isNotNull())
            late.append(_identified(bad, F.lit("EXPECTATION"), message, "An expectation with on_failure: quarantine"))
        transformed.rows = rows
        for data_frame in late:
            quarantined = transformed.quarantined
            transformed.quarantined = (
                data_frame if quarantined is None else quarantined.unionByName(data_frame, allowMissingColumns=True)
            )
        if transformed.quarantined is not None:
            # A record that several steps or expectations reject is one dead letter.
            names = [name for name in QUARANTINE if name in transformed.quarantined.columns]
            transformed.quarantined = transformed.quarantined.dropDuplicates(names)


def _keep(rows: DataFrame, transformed: Transformed) -> DataFrame:
    persisted = rows.persist(StorageLevel.MEMORY_AND_DISK)
    transformed._kept.append(persisted)
    return persisted


def _identified(bad: DataFrame, reason: Any, message: Any, what: str) -> DataFrame:
    """Return the records that ``bad`` rows come from; a record of several rows may be there several times."""
    names = {name: shown for name, shown in QUARANTINE.items() if shown in bad.columns}
    if not {"topic", "partition"} <= set(names) or not {"offset", "sequence"} & set(names):
        raise InvalidInput(
            f"{what} needs the columns _topic, _partition and _offset, which a step has dropped.",
            remedy="Select them too (they are not written to tables), or declare late: drop, on_failure: warn or fail.",
        )
    return bad.select(
        *(F.col(shown).alias(name) for name, shown in names.items()), reason.alias("reason"), message.alias("message")
    )
