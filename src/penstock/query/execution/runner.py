"""Run one statement from its text to the files of its result, inside the child process that was acquired for it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.query.ddl.altering import alter_table
from penstock.query.ddl.databases import add_default, alter_database, create_database, drop_database
from penstock.query.ddl.prepared import deallocate, prepare
from penstock.query.ddl.repair import repair_table
from penstock.query.ddl.tables import create_table, drop_table
from penstock.query.ddl.views import create_view, drop_view
from penstock.query.engine.context import ExecutionContext
from penstock.query.engine.pool import EnginePool
from penstock.query.ports import StatementHost
from penstock.query.results.rows import write_csv, write_metadata
from penstock.query.shows.describing import describe
from penstock.query.shows.explain import explain
from penstock.query.shows.listing import show
from penstock.query.shows.prepared import describe_prepared
from penstock.query.shows.result import ShowResult
from penstock.query.shows.stats import show_stats
from penstock.query.task import METADATA, RESULT, Outcome, Task, milliseconds_since
from penstock.query.writing.ctas import create_table_as
from penstock.query.writing.iceberg.statements import MAY_BE_ICEBERG, run_iceberg
from penstock.query.writing.insert import insert
from penstock.query.writing.unload import unload
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.functions.table import is_repeatable
from penstock.sql.parse import parse
from penstock.sql.statements.model import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateTable,
    CreateTableAs,
    CreateView,
    Deallocate,
    Describe,
    DescribePrepared,
    DropDatabase,
    DropTable,
    DropView,
    Explain,
    Insert,
    Prepare,
    RepairTable,
    Select,
    Show,
    ShowStats,
    Unload,
)
from penstock.statements.model import StatementStatistics
from penstock.statements.work_groups import SPARK_SQL

__all__ = ["execute"]

_QUERIES = (Select, CreateTableAs, Insert, Unload)


def execute(
    task: Task, host: StatementHost, engines: EnginePool, on_planned: Callable[[StatementStatistics], None]
) -> Outcome:
    """Run ``task`` on one of ``engines``, and write its result to its folder.

    ``on_planned`` gets the statistics of the plan before the query runs. Raises :class:`StatementError`.
    """
    started = time.monotonic()
    try:
        parsed = parse(task.sql, task.parameters)
    except InvalidRequest as error:
        raise StatementError("SYNTAX_ERROR", error.message, remedy=error.remedy) from error
    inner = parsed.statement if isinstance(parsed, Explain) else parsed
    spark = task.engine == SPARK_SQL and isinstance(inner, _QUERIES)
    context = ExecutionContext(task, host, engines, on_planned, started, spark)
    if isinstance(parsed, CreateTable | CreateTableAs | CreateView):
        add_default(context, parsed.table)
    outcome = run_iceberg(context, parsed) if isinstance(parsed, MAY_BE_ICEBERG) else None
    if outcome is None:
        executor = _EXECUTORS.get(type(parsed))
        if executor is None:
            raise StatementError("NOT_SUPPORTED", f"{parsed.substatement.replace('_', ' ')} is not supported yet.")
        outcome = executor(context, parsed)
    result = task.folder / RESULT
    if not result.exists():
        result.touch()
    write_metadata(task.folder / METADATA, task.id, outcome.columns)
    return outcome


_SHOWN: Mapping[type, Callable[[ExecutionContext, Any], ShowResult]] = {
    Show: show,
    Describe: describe,
    DescribePrepared: describe_prepared,
}


def _show(context: ExecutionContext, statement: Show | Describe | DescribePrepared) -> Outcome:
    answer = _SHOWN[type(statement)](context, statement)
    return context.text_result(answer.columns, answer.rows)


def _select(context: ExecutionContext, statement: Select) -> Outcome:
    task = context.task
    # Before planning, because planning writes the engine's own functions into the tree.
    reusable = task.reuse and is_repeatable(statement.tree)
    file = task.folder / RESULT
    with context.planned(statement) as (session, plan, statistics):
        if reusable and all(getattr(scan, "repeatable", True) for scan in plan.scans):
            return Outcome((), StatementStatistics(planning_ms=statistics.planning_ms, reused=True))
        context.on_planned(statistics)
        computing = time.monotonic()
        result = session.run(plan)
        with session.failures(plan.tree):
            rows = write_csv(file, result, limit=task.settings.result_bytes, threads=task.settings.threads)
        return Outcome(result.columns, replace(statistics, engine_ms=milliseconds_since(computing), output_rows=rows))


_EXECUTORS: Mapping[type, Callable[[ExecutionContext, Any], Outcome]] = {
    Select: _select,
    Show: _show,
    ShowStats: show_stats,
    Describe: _show,
    DescribePrepared: _show,
    CreateDatabase: create_database,
    DropDatabase: drop_database,
    AlterDatabase: alter_database,
    CreateTable: create_table,
    DropTable: drop_table,
    AlterTable: alter_table,
    RepairTable: repair_table,
    CreateView: create_view,
    DropView: drop_view,
    Prepare: prepare,
    Deallocate: deallocate,
    CreateTableAs: create_table_as,
    Insert: insert,
    Unload: unload,
    Explain: explain,
}
"""How each kind of statement runs, by the class that it is parsed to. An executor writes its rows, if any, to RESULT."""
