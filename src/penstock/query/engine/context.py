"""What a statement has in its process: its task, its host, and rows of queries as its engine computes them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from penstock.query.engine.pool import EnginePool
from penstock.query.engine.session import EngineSession, QueryEngine
from penstock.query.engine.spark import SparkSession
from penstock.query.permitted_files import PermittedLake
from penstock.query.planning.planner import Plan, Planner
from penstock.query.ports import StatementHost
from penstock.query.results.rows import EngineResult, write_lines
from penstock.query.task import RESULT, Outcome, Task, milliseconds_since
from penstock.sql.statements.model import Select
from penstock.statements.model import ResultColumn, StatementStatistics

__all__ = ["Computation", "ExecutionContext"]


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
    engines: EnginePool
    on_planned: Callable[[StatementStatistics], None]
    started: float = field(default_factory=time.monotonic)
    spark: bool = False
    """Whether Spark SQL computes the statement's query, if it reads files."""

    @cached_property
    def lake(self) -> PermittedLake:
        """The lake as the statement's caller may open it."""
        return PermittedLake(self.task.lake, self.host)

    def own_engine(self) -> EngineSession:
        """Return the embedded engine for a query of the statement. The caller closes it."""
        return EngineSession(self.engines, self.task.settings, self.task.lake, self.task.folder / "spill")

    @contextmanager
    def planned(self, select: Select, *, explain: bool = False) -> Iterator[tuple[QueryEngine, Plan, StatementStatistics]]:
        """Plan ``select``, for its plan alone if ``explain``. Raises :class:`StatementError`; the end closes the session."""
        task = self.task
        own = self.own_engine()
        session: QueryEngine = SparkSession(own, task, self.host, self.lake) if self.spark else own
        try:
            planner = Planner(self.host, self.lake, own, max_files=task.settings.max_files, spark=self.spark)
            plan = planner.plan(select, database=task.database)
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

    def text_result(
        self,
        columns: Sequence[ResultColumn] = (),
        rows: Sequence[Sequence[str]] = (),
        statistics: StatementStatistics | None = None,
    ) -> Outcome:
        """Write ``rows`` as the lines of the statement's result, and return its outcome."""
        count = write_lines(self.task.folder / RESULT, rows)
        base = statistics or StatementStatistics()
        return Outcome(columns, replace(base, output_rows=count, engine_ms=milliseconds_since(self.started)))
