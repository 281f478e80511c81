"""The engine of one statement that Spark SQL computes: planned in this process, computed by the owner's Spark."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import duckdb
import pyarrow as pa
from sqlglot import exp

from penstock.query.engine.session import EngineSession
from penstock.query.permitted_files import PermittedLake
from penstock.query.planning.planner import Plan
from penstock.query.results.rows import EngineResult
from penstock.query.sparksql.reads import RemoteQuery
from penstock.query.sparksql.types import spark_type
from penstock.query.task import ROWS, Task
from penstock.sql.engine_types import result_column
from penstock.sql.errors import StatementError
from penstock.sql.functions.build import engine_type
from penstock.sql.spark_query import SparkQuery, SparkRows
from penstock.sql.trino_types import Type

__all__ = ["SparkSession"]


class _Cluster(Protocol):
    def compute(self, query: SparkQuery, /) -> SparkRows:
        """As :meth:`penstock.query.ports.StatementHost.compute`."""
        ...


class SparkSession:
    """As :class:`penstock.query.engine.session.EngineSession`, for plans that are for Spark SQL; others run in ``own``."""

    def __init__(self, own: EngineSession, task: Task, cluster: _Cluster, lake: PermittedLake) -> None:
        self._lake = lake
        self._own = own
        self._task = task
        self._cluster = cluster

    def close(self) -> None:
        self._own.close()

    def run(self, plan: Plan) -> EngineResult:
        """Compute the rows, all of them: they are in the statement's folder. Raises :class:`StatementError`."""
        query = plan.remote
        if query is None:
            return self._own.run(plan)
        answer = self._cluster.compute(self._request(query))
        # Spark reads Iceberg's metadata for itself: what it named then are the files that were asked for.
        self._lake.check_unchanged()
        file = pa.ipc.open_file(pa.memory_map(str(self._task.folder / ROWS)))
        batches = (file.get_batch(number) for number in answer.order)
        columns = [result_column(name, duckdb.sqltype(str(engine_type(type_))), type_) for name, type_ in query.columns]
        names = [name for name, _ in query.columns]
        schema = pa.schema([pa.field(name, item.type) for name, item in zip(names, file.schema, strict=True)])
        reader = pa.RecordBatchReader.from_batches(schema, _renamed(batches, schema))
        return EngineResult(columns, reader, [type_ for _, type_ in query.columns])

    def described(self, plan: Plan) -> Sequence[tuple[str, Type]]:
        return plan.remote.columns if plan.remote is not None else self._own.described(plan)

    def explained(self, plan: Plan, *, analyze: bool = False, form: str = "text") -> Sequence[str]:
        """Return the lines of Spark's own plan. Raises :class:`StatementError`, also for what Spark does not tell."""
        if plan.remote is None:
            return self._own.explained(plan, analyze=analyze, form=form)
        if analyze or form != "text":
            what = "EXPLAIN ANALYZE" if analyze else f"EXPLAIN (FORMAT {form.upper()})"
            raise StatementError(
                "NOT_SUPPORTED", f"{what} is not supported by the engine Spark SQL.", remedy="Use EXPLAIN alone."
            )
        return self._cluster.compute(self._request(plan.remote, explain=True)).lines

    def failures(self, tree: exp.Query | None = None) -> AbstractContextManager[None]:
        return self._own.failures(tree)

    def _request(self, query: RemoteQuery, *, explain: bool = False) -> SparkQuery:
        settings = self._task.settings
        return SparkQuery(
            sql=query.sql,
            reads=query.reads,
            types=[str(spark_type(type_)) for _, type_ in query.columns],
            limit=max(settings.result_bytes, settings.written_bytes if self._task.writes else 0),
            explain=explain,
        )


def _renamed(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
