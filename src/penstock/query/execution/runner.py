"""Run one statement from its text to the files of its result, inside the child process that was lent for it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.lake.locations import LakeFolder
from penstock.query.dialect.checks import is_repeatable
from penstock.query.dialect.parse import Select, Show, parse
from penstock.query.dialect.shows import show
from penstock.query.errors import InvalidRequest, StatementError
from penstock.query.execution.engine import EngineSession
from penstock.query.execution.results import write_csv, write_lines, write_metadata
from penstock.query.planning.planner import Planner
from penstock.query.ports import CatalogReader
from penstock.query.settings import QuerySettings
from penstock.statements.model import ResultColumn, StatementStatistics

__all__ = ["METADATA", "RESULT", "Outcome", "Task", "execute", "milliseconds_since"]

RESULT, METADATA = "result", "result.metadata"
"""Names of the files in a task's folder: the rows, and the description of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The input of a child process: a statement, the lake that it reads, and an empty folder for its files."""

    id: str
    sql: str
    parameters: Sequence[str]
    database: str | None
    lake: LakeFolder
    settings: QuerySettings
    folder: Path
    reuse: bool = False
    """Whether an earlier result exists; then the statement is only planned, which checks what its caller may read."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished statement: its columns and its statistics."""

    columns: Sequence[ResultColumn]
    statistics: StatementStatistics


def execute(task: Task, catalog: CatalogReader, on_planned: Callable[[StatementStatistics], None]) -> Outcome:
    """Run ``task`` and write its result to its folder. ``on_planned`` gets the statistics of the plan before the query runs.

    Raises :class:`StatementError`.
    """
    started = time.monotonic()
    try:
        parsed = parse(task.sql, task.parameters)
    except InvalidRequest as error:
        raise StatementError("SYNTAX_ERROR", error.message, remedy=error.remedy) from error
    if isinstance(parsed, Show):
        answer = show(parsed, catalog, task.database)
        rows = write_lines(task.folder / RESULT, answer.rows)
        outcome = Outcome(answer.columns, StatementStatistics(output_rows=rows, engine_ms=milliseconds_since(started)))
    else:
        outcome = _select(task, parsed, catalog, on_planned, started)
    write_metadata(task.folder / METADATA, task.id, outcome.columns)
    return outcome


def _select(
    task: Task, parsed: Select, catalog: CatalogReader, on_planned: Callable[[StatementStatistics], None], started: float
) -> Outcome:
    # Before planning, because planning writes the engine's own functions into the tree.
    reusable = task.reuse and is_repeatable(parsed.tree)
    session = EngineSession(task.settings, task.lake, task.folder / "spill")
    try:
        plan = Planner(catalog, task.lake, max_files=task.settings.max_files).plan(
            parsed, database=task.database, prune=session.prune
        )
        files = {file.path: file.size for scan in plan.scans for file in scan.files}
        statistics = StatementStatistics(
            planning_ms=milliseconds_since(started),
            files_scanned=0 if parsed.explain else len(files),
            scanned_bytes=0 if parsed.explain else sum(files.values()),
            partitions_scanned=sum(len(scan.partitions) for scan in plan.scans),
            partitions_total=sum(scan.partitions_total for scan in plan.scans),
        )
        if reusable:
            return Outcome((), StatementStatistics(planning_ms=statistics.planning_ms, reused=True))
        on_planned(statistics)
        computing = time.monotonic()
        result = session.run(plan)
        file = task.folder / RESULT
        with session.failures(plan.tree):
            if parsed.explain:
                rows = write_lines(file, [[str(line)] for line in result.batches.read_all().column(0).to_pylist()])
            else:
                rows = write_csv(file, result.columns, result.batches, limit=task.settings.result_bytes)
        return Outcome(result.columns, replace(statistics, engine_ms=milliseconds_since(computing), output_rows=rows))
    finally:
        session.close()


def milliseconds_since(start: float) -> int:
    """Return the whole milliseconds since ``start`` of the monotonic clock."""
    return int((time.monotonic() - start) * 1000)
