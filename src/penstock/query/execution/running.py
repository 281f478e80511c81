"""One statement of this server process: a child process runs it, this process stores its result."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.children.process import ChildEnded
from penstock.errors import NotFound
from penstock.lake.locations import LakeFolder
from penstock.query.errors import Interrupted, Preempted
from penstock.query.execution.children import ChildPool
from penstock.query.execution.host import Host
from penstock.query.execution.process import StatementProcess, failure_of
from penstock.query.permitted_catalog import PermittedCatalog, PermittedStatements
from penstock.query.ports import ClusterEngine, ResultSink
from penstock.query.results.rows import write_metadata
from penstock.query.settings import QuerySettings
from penstock.query.task import METADATA, RESULT, ROWS, Outcome, StatementText, Task, milliseconds_since
from penstock.query.writing.publishing import Committer, announce
from penstock.sql.errors import StatementError
from penstock.sql.spark_query import SparkQuery, SparkRows
from penstock.statements.model import WRITING, Statement, StatementStatistics
from penstock.statements.work_groups import SPARK_SQL

__all__ = ["Run"]

_CUT_OFF = "Bytes scanned limit was exceeded"
_COMPUTES = 0.2  # seconds of processor time, by which a statement is not a short one
_MANIFEST = "-manifest.csv"  # Athena user guide, "Identify query output files"
_PREVIOUS = "previous"  # the file name of an earlier result, in the statement's folder


class Run:
    """A running statement. One thread calls :meth:`execute`; any other may call :meth:`interrupt`."""

    def __init__(
        self,
        statement: Statement,
        text: StatementText,
        *,
        catalog: PermittedCatalog,
        lake: LakeFolder,
        sink: ResultSink,
        settings: QuerySettings,
        children: ChildPool,
        prepared: PermittedStatements,
        previous: Statement | None = None,
        cutoff: int | None = None,
        cluster: ClusterEngine | None = None,
        holds: Callable[[], bool],
    ) -> None:
        """``text`` is what runs: of EXECUTE it is the prepared statement's.

        ``holds`` returns whether the statement is still this process's own, and makes sure of it for a while.
        """
        self.statement = statement
        self._text = text
        self._prepared = prepared
        self.started = self._submitted = time.monotonic()
        self.reason: StatementError | str | None = None
        """Why the statement was interrupted: an error, or the message of a user's stop."""
        self.statistics = StatementStatistics()
        self.restarted = False
        """Whether the statement was preempted before, so that its state is RUNNING already."""
        self._catalog = catalog
        self._lake = lake
        self._sink = sink
        self._settings = settings
        self._children = children
        self._previous = previous
        self._cutoff = cutoff
        self._cluster = cluster
        self._holds = holds
        self._interrupted = False
        self._lock = threading.Lock()
        self._child: StatementProcess | None = None
        self._folder: Path | None = None
        self._preempting = False
        self._began: float | None = None
        self._used = 0.0
        self.ended = threading.Event()
        """Set when the statement's last state is stored."""
        self._committing = False
        self._committed = False
        self.journaled = False
        """Whether there is a journal, which goes when the statement's state is stored."""

    @property
    def running_for(self) -> float:
        """For how many seconds the engine has computed the statement's rows; 0 while a process starts and plans it.

        Time in which it hardly computed, on a busy machine, counts a tenth.
        """
        child = self._child
        if self._began is None or child is None:
            return 0.0
        passed, used = time.monotonic() - self._began, child.cpu_seconds()
        return passed if used is None or used - self._used >= _COMPUTES else passed / 10

    @property
    def age(self) -> float:
        """Seconds since the statement was accepted."""
        return time.monotonic() - self._submitted

    @property
    def restartable(self) -> bool:
        """Whether the statement only reads, so that it can be run again from its start."""
        return self.statement.substatement == "SELECT" and self.statement.engine != SPARK_SQL

    def lower_priority(self) -> None:
        """Let the statement's process run only while no other statement's needs a processor."""
        with self._lock:
            if self._child is not None:
                self._child.lower_priority()

    def preempt(self) -> None:
        """End the statement's process; :meth:`execute` raises :class:`Preempted` and can be called again."""
        with self._lock:
            if self._child is not None and self.reason is None:
                self._preempting = True
                self._child.kill()

    def interrupt(self, reason: StatementError | str) -> None:
        """Stop the statement by killing its process; the first reason is kept."""
        with self._lock:
            if self._committing:
                return  # it succeeds or fails by itself, and readers see all of it or nothing
            if self.reason is None:
                self.reason = reason
            self._interrupted = True
            if self._child is not None:
                self._child.kill()

    def statistics_after(self, *, total_ms: int) -> StatementStatistics:
        """Return the statistics so far, ``total_ms`` after the statement was submitted; time not run counts as queued."""
        queued = max(0, total_ms - milliseconds_since(self.started))
        return replace(self.statistics, queue_ms=queued, total_ms=max(total_ms, 0))

    def check(self) -> None:
        """Raise :class:`Interrupted` if the statement was interrupted."""
        if isinstance(self.reason, StatementError):
            raise self.reason
        if self.reason is not None:
            raise Interrupted

    def execute(self) -> Outcome:
        """Run the statement and store its result.

        :meth:`clean` removes its files. Raises :class:`StatementError`; :class:`Interrupted` if it was stopped,
        :class:`Preempted` after :meth:`preempt`.
        """
        folder = self._folder = Path(tempfile.mkdtemp(dir=self._children.folder(self._settings.account)))
        outcome = self._computed(folder, reuse=self._fetched(folder))
        if outcome.statistics.reused:
            outcome = self._reused(folder, outcome)
        self.statistics = outcome.statistics
        self.check()
        stored = self._stored(folder, outcome)
        if outcome.commit is not None:
            self.journaled = True
            Committer(self._catalog, self._sink, folder, self.statement.result_uri).run(
                outcome.commit, self._commits, self._hold
            )
            self._committed = True
        return stored

    def clean(self) -> None:
        """Remove the files of :meth:`execute`, also after an error; once its state is stored, as this takes a while."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _fetched(self, folder: Path) -> bool:
        """Copy an earlier result to ``folder``. Return whether there is one, and its object still exists."""
        if self._previous is None:
            return False
        try:
            with self._sink.open(self._previous.result_uri) as stored, (folder / _PREVIOUS).open("wb") as file:
                shutil.copyfileobj(stored, file)
        except NotFound:
            return False
        return True

    def _reused(self, folder: Path, outcome: Outcome) -> Outcome:
        assert self._previous is not None
        (folder / _PREVIOUS).replace(folder / RESULT)
        columns = self._previous.columns
        write_metadata(folder / METADATA, self.statement.id, columns)
        rows = self._previous.statistics.output_rows
        return Outcome(columns, replace(outcome.statistics, output_rows=rows))

    def _computed(self, folder: Path, *, reuse: bool) -> Outcome:
        statement = self.statement
        task = Task(
            id=statement.id,
            sql=self._text.sql,
            parameters=self._text.parameters,
            database=statement.database,
            lake=self._lake,
            settings=self._settings,
            folder=folder,
            output_location=statement.output_location,
            engine=statement.engine,
            writes=statement.substatement in WRITING,
            reuse=reuse,
        )
        with self._children.acquire(self._settings.account, self._lake.root, folder.parent) as child:
            with self._lock:
                self._child = child
            self._began = None
            try:
                self.check()
                host = Host(
                    self._catalog, self._sink, folder, self._prepared, committing=self._changing, compute=self._compute
                )
                return child.run(task, host, self._planned)
            except ChildEnded as error:
                self.check()
                if self._preempting:
                    self._preempting = False
                    raise Preempted from error
                raise failure_of(error.exit) from error
            finally:
                with self._lock:
                    self._child = None

    def _compute(self, query: SparkQuery) -> SparkRows:
        """Let Spark SQL compute the statement's query. Raises :class:`StatementError`, and as :meth:`check`."""
        assert self._folder is not None
        if self._cluster is None or self.statement.engine != SPARK_SQL:
            raise StatementError("NOT_SUPPORTED", "The statement is not one of Spark SQL's.")
        try:
            return self._cluster.compute(query, self._folder / ROWS, lambda: self._interrupted)
        finally:
            self.check()

    @property
    def committed(self) -> bool:
        """Whether everything that the statement wrote is visible to readers."""
        return self._committed

    def _commits(self) -> None:
        """Begin what cannot be stopped. Raises as :meth:`check` if the statement was interrupted before."""
        with self._lock:
            self.check()
            self._committing = True
        self._hold()

    def _hold(self) -> None:
        """Raise :class:`StatementError` if another server has ended the statement: this process was stopped for a while."""
        if not self._holds():
            raise StatementError("SERVER_RESTARTED", "The statement's server gave no sign of life.", remedy="Run it again.")

    @contextmanager
    def _changing(self, request: Mapping[str, Any]) -> Iterator[None]:
        """Do what cannot be stopped, and after which the statement has succeeded, unless it fails.

        From then on a statement that writes rows is committed, whatever becomes of its process or its manifest.
        """
        self._commits()
        try:
            if self.statement.substatement in WRITING:
                assert self._folder is not None
                self.journaled = True
                announce(self.statement.result_uri, self._sink, self._folder, request)
            yield
            self._committed = self.journaled
        except BaseException:
            with self._lock:
                self._committing = False
            raise

    def _planned(self, statistics: StatementStatistics) -> None:
        child = self._child
        self._used = (child.cpu_seconds() if child is not None else None) or 0.0
        self._began = time.monotonic()
        self.statistics = statistics
        if self._cutoff is not None and statistics.scanned_bytes > self._cutoff:
            self.interrupt(_CUT_OFF)

    def _stored(self, folder: Path, outcome: Outcome) -> Outcome:
        storing = time.monotonic()
        file = folder / RESULT
        size = file.stat().st_size
        files = [(f"{self.statement.result_uri}.metadata", folder / METADATA)]
        if self.statement.has_rows:
            files.append((self.statement.result_uri, file))
        self._sink.take(files)
        self.statistics = replace(
            outcome.statistics,
            output_bytes=size,
            service_ms=milliseconds_since(storing),
            update_count=outcome.update_count,
            manifest_uri=self._stored_manifest(folder, outcome),
        )
        return replace(outcome, statistics=self.statistics)

    def _stored_manifest(self, folder: Path, outcome: Outcome) -> str | None:
        """Store the list of the data files that the statement wrote, and return its name; None if it is not of that kind."""
        if outcome.update_count is None and not outcome.written:
            return None
        file = folder / _MANIFEST
        file.write_text("".join(f"{uri}\n" for uri in outcome.written))
        uri = f"{self.statement.output_location.rstrip('/')}/{self.statement.id}{_MANIFEST}"
        self._sink.put(uri, file)
        return uri
