"""What an executor of one kind of statement has: the task, the host, and rows of a query as the engine computes them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sqlglot import exp

from penstock.lake.locations import LakeFolder
from penstock.query.engine.session import EngineResult, EngineSession, QueryEngine
from penstock.query.permitted_files import PermittedLake
from penstock.query.planning.planner import Plan, Planner
from penstock.query.ports import StatementHost
from penstock.query.settings import QuerySettings
from penstock.query.writing.publishing import Commit
from penstock.sql.statements.model import Select
from penstock.statements.model import ResultColumn, StatementStatistics
from penstock.statements.work_groups import AUTO

__all__ = ["Computation", "ExecutionContext", "Outcome", "Task", "milliseconds_since"]


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
    output_location: str = ""
    """Where the statement's result goes; tables without a location are below it."""
    engine: str = AUTO
    """What the work group selects, of :data:`penstock.statements.work_groups.ENGINES`."""
    writes: bool = False
    """Whether the statement writes its rows to a table."""
    reuse: bool = False
    """Whether an earlier result exists; then the statement is only planned, which checks what its caller may read."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished statement: its columns and its statistics."""

    columns: Sequence[ResultColumn]
    statistics: StatementStatistics
    update_count: int | None = None
    """How many rows the statement wrote, changed or deleted; None if it is not one of that kind."""
    written: Sequence[str] = ()
    """``s3://`` names of the data files that it wrote, for the manifest."""
    commit: Commit | None = None
    """What its owner has to store and change, after which the statement has succeeded."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A query whose rows are being computed. Reading ``result.batches`` has to be inside ``failures()``."""

    plan: Plan
    statistics: StatementStatistics
    result: EngineResult
    failures: Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class ExecutionContext:
    """One statement in its process."""

    task: Task
    host: StatementHost
    on_planned: Callable[[StatementStatistics], None]
    started: float = field(default_factory=time.monotonic)
    spark: bool = False
    """Whether Spark SQL computes the statement's query, if it reads files."""

    @cached_property
    def lake(self) -> PermittedLake:
        """The lake as the statement's caller may open it."""
        return PermittedLake(self.task.lake, self.host)

    @contextmanager
    def planned(self, select: Select, *, explain: bool = False) -> Iterator[tuple[QueryEngine, Plan, StatementStatistics]]:
        """Plan ``select``, for its plan alone if ``explain``. Raises :class:`StatementError`; the end closes the session."""
        task = self.task
        own = EngineSession(task.settings, task.lake, task.folder / "spill")
        session: QueryEngine = own
        if self.spark:
            from penstock.query.engine.spark import RemoteSession  # noqa: PLC0415 - it imports this module

            session = RemoteSession(own, task, self.host, self.lake)
        try:
            planner = Planner(self.host, self.lake, max_files=task.settings.max_files, spark=self.spark)
            plan = planner.plan(select, database=task.database, prune=session.prune)
            files = {file.path: file.size for scan in plan.scans for file in scan.files}
            self.lake.check_opened(files)
            statistics = StatementStatistics(
                planning_ms=milliseconds_since(self.started),
                files_scanned=0 if explain else len(files),
                scanned_bytes=0 if explain else sum(files.values()),
                partitions_scanned=sum(scan.partitions_read for scan in plan.scans),
                partitions_total=sum(scan.partitions_total for scan in plan.scans),
            )
            yield session, plan, statistics
        finally:
            session.close()

    @contextmanager
    def computed(self, query: Select | exp.Query) -> Iterator[Computation]:
        """Plan and start a query, whose rows the caller reads before the end. Raises :class:`StatementError`."""
        select = query if isinstance(query, Select) else Select(tree=query)
        with self.planned(select) as (session, plan, statistics):
            self.on_planned(statistics)
            yield Computation(plan, statistics, session.run(plan), lambda: session.failures(plan.tree))


def milliseconds_since(start: float) -> int:
    """Return the whole milliseconds since ``start`` of the monotonic clock."""
    return int((time.monotonic() - start) * 1000)
