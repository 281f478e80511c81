"""The embedded engine: one DuckDB database at a time has one statement, locked down before the statement's own SQL runs.

A statement's database is in memory, may open only the files of its scans, has a bounded memory and spill folder, and its
configuration is locked. Another statement gets it only if it reads the same files (:mod:`penstock.query.engine.pool`).
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa
from sqlglot import exp

from penstock.catalog.model import Partition, Table
from penstock.lake.locations import LakeFolder
from penstock.query.engine.failures import translate_error
from penstock.query.engine.pool import Engine, EnginePool
from penstock.query.planning.planner import Plan
from penstock.query.results.rows import EngineResult
from penstock.query.settings import QuerySettings
from penstock.query.tables.partition_values import make_partition_table
from penstock.query.tables.port import SCHEMA, Conditions
from penstock.sql.engine_types import result_column, type_of_engine
from penstock.sql.errors import Position, StatementError
from penstock.sql.library import install
from penstock.sql.trino_types import Type
from penstock.sql.types import duckdb_type, quote_name

__all__ = ["EngineSession", "QueryEngine"]

_BATCH_ROWS = 4_096


class QueryEngine(Protocol):
    """What computes a statement's queries: the embedded engine, or Spark SQL."""

    def close(self) -> None:
        """End it with the statement."""
        ...

    def run(self, plan: Plan, /) -> EngineResult:
        """Start the plan's query. Raises :class:`StatementError`."""
        ...

    def described(self, plan: Plan, /) -> Sequence[tuple[str, Type]]:
        """Return the names and Trino's types of the plan's columns. Raises :class:`StatementError`."""
        ...

    def explained(self, plan: Plan, /, *, analyze: bool = False, form: str = "text") -> Sequence[str]:
        """Return the lines of the engine's own plan. Raises :class:`StatementError`."""
        ...

    def failures(self, tree: exp.Query | None = None, /) -> AbstractContextManager[None]:
        """Translate the engine's errors to :class:`StatementError`, with positions from ``tree``."""
        ...


class EngineSession:
    """The engine of one statement, in the statement's process."""

    def __init__(self, engines: EnginePool, settings: QuerySettings, lake: LakeFolder, scratch: Path) -> None:
        self._engines = engines
        self._settings = settings
        self._lake = lake
        self._scratch = scratch
        self._engine: Engine | None = None
        self._sound = True

    def close(self) -> None:
        """Give the engine back; it is freed when the process has answered, or kept for a statement on the same files."""
        if self._engine is not None:
            self._engines.give_back(self._engine, sound=self._sound)
            self._engine = None

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        assert self._engine is not None
        return self._engine.connection

    def prune(self, table: Table, partitions: Sequence[Partition], conditions: Conditions, outer: bool) -> Sequence[int]:
        """Return indexes of the partitions that meet all conditions; see :class:`penstock.query.tables.port.Evaluator`.

        A condition that is also true for absent rows (``key IS NULL`` over an outer join) is left out, and so is one that
        the engine cannot evaluate. Raises :class:`StatementError` for a value that is not of its key's type.
        """
        connection = self._engines.sandbox()
        for condition in conditions:
            install(connection, condition)
        try:
            make_partition_table(
                connection,
                "partitions",
                table,
                list(enumerate(partitions)),
                index="number",
                index_type="INTEGER",
                lenient=True,
            )
            names = ", ".join(
                f"CAST(NULL AS {duckdb_type(key.type or 'string')}) AS {quote_name(key.name)}"
                for key in table.partition_keys
            )
            usable = []
            for condition in conditions:
                try:
                    absent = connection.execute(f"SELECT ({condition}) FROM (SELECT {names})").fetchone()  # noqa: S608 checked SQL
                    connection.execute(f"SELECT count(*) FROM partitions WHERE {condition}").fetchone()  # noqa: S608 checked SQL
                except duckdb.Error:
                    continue
                if not outer or (absent is not None and absent[0] is not True):
                    usable.append(f"({condition})")
            if not usable:
                return range(len(partitions))
            rows = connection.execute(f"SELECT number FROM partitions WHERE {' AND '.join(usable)} ORDER BY 1").fetchall()  # noqa: S608
        finally:
            connection.execute("DROP TABLE IF EXISTS partitions")
        return [number for (number,) in rows]

    def instant(self, sql: str, position: Position | None) -> int:
        """Return what ``sql`` is in milliseconds since 1970; see :class:`penstock.query.tables.port.Evaluator`."""
        try:
            query = f"SELECT typeof({sql}), epoch_ms(CAST({sql} AS TIMESTAMPTZ))"
            [(name, instant)] = self._engines.sandbox().execute(query).fetchall()
        except duckdb.Error as error:
            what = str(error).splitlines()[0][:200]
            raise StatementError("INVALID_ARGUMENTS", f"FOR TIMESTAMP AS OF: {what}", position=position) from None
        if instant is None or not str(name).startswith(("DATE", "TIMESTAMP")):
            raise StatementError("INVALID_ARGUMENTS", "FOR TIMESTAMP AS OF needs a timestamp or a date.", position=position)
        return int(instant)

    def run(self, plan: Plan) -> EngineResult:
        """Start the plan's query. Raises :class:`StatementError`; reading the batches may raise the engine's own errors."""
        with self.failures(plan.tree):
            self._install(plan)
            relation = self._connection.sql(plan.sql)
            known = plan.types if len(plan.types) == len(relation.columns) else [None] * len(relation.columns)
            columns = [result_column(*pair) for pair in zip(relation.columns, relation.types, known, strict=True)]
            return EngineResult(columns, relation.to_arrow_reader(_BATCH_ROWS), known)

    def described(self, plan: Plan) -> Sequence[tuple[str, Type]]:
        """Return the names and Trino's types of the plan's columns. Raises :class:`StatementError`."""
        with self.failures(plan.tree):
            self._install(plan)
            relation = self._connection.sql(plan.sql)
            engine_types = [type_of_engine(type_) for type_ in relation.types]
            known = plan.types if len(plan.types) == len(engine_types) else [None] * len(engine_types)
            types = [
                own if own is not None and own.is_whole else type_ for own, type_ in zip(known, engine_types, strict=True)
            ]
            return list(zip(relation.columns, types, strict=True))

    def explained(self, plan: Plan, *, analyze: bool = False, form: str = "text") -> Sequence[str]:
        """Return the lines of the engine's own plan, which runs if ``analyze``, in DuckDB's format ``form``.

        Raises :class:`StatementError`.
        """
        with self.failures(plan.tree):
            self._install(plan)
            rows = self._connection.sql(f"EXPLAIN ({'ANALYZE, ' if analyze else ''}FORMAT {form}) {plan.sql}").fetchall()
            return [line for row in rows for line in str(row[-1]).splitlines()]

    @contextmanager
    def failures(self, tree: exp.Query | None = None) -> Iterator[None]:
        """Translate the engine's errors to :class:`StatementError`, with positions from ``tree``."""
        try:
            yield
        except (StatementError, duckdb.Error, OSError, pa.ArrowException) as error:
            self._sound = False
            raise translate_error(error, tree, self._lake.root) from error

    def _install(self, plan: Plan) -> None:
        paths = sorted({file.path for scan in plan.scans for file in scan.files})
        self._engine = engine = self._engines.session(self._settings, self._scratch, paths)
        install(self._connection, plan.sql)
        engine.untouched = not plan.scans
        if plan.scans:
            self._connection.execute(f"CREATE SCHEMA {SCHEMA}")
        for scan in plan.scans:
            scan.install(self._connection)
        if not engine.locked:
            engine.lock()
