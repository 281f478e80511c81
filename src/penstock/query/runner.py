"""Run one statement from its text to its stored result."""

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.lake.locations import LakeFolder
from penstock.query.dialect import Select, Show, parse
from penstock.query.engine import EngineSession
from penstock.query.errors import Interrupted, InvalidRequest, StatementError
from penstock.query.planner import Planner
from penstock.query.ports import CatalogReader, ResultSink
from penstock.query.results import write_csv, write_lines, write_metadata
from penstock.query.settings import QuerySettings
from penstock.query.shows import show
from penstock.statements.model import ResultColumn, Statement, StatementStatistics

__all__ = ["Outcome", "Run"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished statement: its columns and what it took."""

    columns: Sequence[ResultColumn]
    statistics: StatementStatistics


class Run:
    """One statement being run. :meth:`execute` belongs to one thread; :meth:`interrupt` may come from any other."""

    def __init__(
        self, statement: Statement, *, catalog: CatalogReader, lake: LakeFolder, sink: ResultSink, settings: QuerySettings
    ) -> None:
        self.statement = statement
        self.started = time.monotonic()
        self.why: StatementError | str | None = None
        """Why it was interrupted: an error, or the words of whoever stopped it."""
        self.statistics = StatementStatistics()
        self._catalog = catalog
        self._lake = lake
        self._sink = sink
        self._settings = settings
        self._session: EngineSession | None = None

    def interrupt(self, why: StatementError | str) -> None:
        """Stop it; the first reason stays."""
        if self.why is None:
            self.why = why
        session = self._session
        if session is not None:
            session.interrupt()

    def timed(self, *, total_ms: int) -> StatementStatistics:
        """The statistics so far, ``total_ms`` after the statement was submitted; what it has not run, it was queued."""
        queued = max(0, total_ms - _milliseconds(self.started))
        return replace(self.statistics, queue_ms=queued, total_ms=max(total_ms, 0))

    def check(self) -> None:
        """Raise where it was interrupted."""
        if isinstance(self.why, StatementError):
            raise self.why
        if self.why is not None:
            raise Interrupted

    def execute(self) -> Outcome:
        """Run it and store its result. Raises :class:`StatementError`, or :class:`Interrupted` where it was stopped."""
        try:
            parsed = parse(self.statement.sql, self.statement.parameters)
        except InvalidRequest as error:
            raise StatementError("SYNTAX_ERROR", error.message, remedy=error.remedy) from error
        scratch = Path(tempfile.mkdtemp(prefix="penstock-sql-"))
        try:
            if isinstance(parsed, Show):
                return self._show(parsed, scratch)
            return self._select(parsed, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _show(self, parsed: Show, scratch: Path) -> Outcome:
        answer = show(parsed, self._catalog, self.statement.database)
        file = scratch / "result.txt"
        rows = write_lines(file, answer.rows)
        self.statistics = replace(self.statistics, output_rows=rows, engine_ms=_milliseconds(self.started))
        return self._stored(file, answer.columns)

    def _select(self, parsed: Select, scratch: Path) -> Outcome:
        session = EngineSession(self._settings, self._lake, scratch / "spill")
        self._session = session
        try:
            self.check()
            plan = Planner(self._catalog, self._lake, max_files=self._settings.max_files).plan(
                parsed, database=self.statement.database, prune=session.prune
            )
            files = {file.path: file.size for scan in plan.scans for file in scan.files}
            self.statistics = replace(
                self.statistics,
                planning_ms=_milliseconds(self.started),
                files_scanned=0 if parsed.explain else len(files),
                scanned_bytes=0 if parsed.explain else sum(files.values()),
                partitions_scanned=sum(len(scan.partitions) for scan in plan.scans),
                partitions_total=sum(scan.partitions_total for scan in plan.scans),
            )
            self.check()
            computing = time.monotonic()
            result = session.run(plan)
            self.check()
            file = scratch / "result"
            with session.failures(plan.tree):
                if parsed.explain:
                    rows = write_lines(file, [[str(line)] for line in result.batches.read_all().column(0).to_pylist()])
                else:
                    rows = write_csv(file, result.columns, result.batches, limit=self._settings.result_bytes)
            self.statistics = replace(self.statistics, engine_ms=_milliseconds(computing), output_rows=rows)
        finally:
            self._session = None
            session.close()
        return self._stored(file, result.columns)

    def _stored(self, file: Path, columns: Sequence[ResultColumn]) -> Outcome:
        self.check()
        storing = time.monotonic()
        size = file.stat().st_size
        metadata = file.with_suffix(".metadata")
        write_metadata(metadata, self.statement.id, columns)
        self._sink.put(f"{self.statement.result_uri}.metadata", metadata)
        self._sink.put(self.statement.result_uri, file)
        self.statistics = replace(self.statistics, output_bytes=size, service_ms=_milliseconds(storing))
        return Outcome(columns, self.statistics)


def _milliseconds(start: float) -> int:
    # Since ``start`` of the monotonic clock.
    return int((time.monotonic() - start) * 1000)
