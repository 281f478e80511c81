"""The service of statements: accept, queue, run, watch and stop them, and read their results.

Each server process runs the statements that it accepted, on a bounded pool of threads that each wait for a child process.
Every process answers for all statements, because states are in the store and results are objects of the lake.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from penstock.errors import NotFound, PenstockError
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import GET_OBJECT, PUT_OBJECT, FileAccess
from penstock.owners import Ownership
from penstock.query.acceptance import Acceptance, StatementRequest, check_same
from penstock.query.errors import Interrupted, Preempted, TooManyRequests, without_paths
from penstock.query.execution.children import ChildPool
from penstock.query.execution.running import Run
from penstock.query.execution.scheduler import StatementScheduler
from penstock.query.execution.watch import Watch
from penstock.query.history import History
from penstock.query.permitted_catalog import PermittedCatalog, PermittedStatements
from penstock.query.ports import CatalogChanges, CatalogReader, ClusterEngine, ResultSink
from penstock.query.results.rows import ResultRows, read_rows
from penstock.query.settings import QuerySettings
from penstock.query.writing.publishing import forget, recover
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.model import (
    FINAL_STATES,
    WRITING,
    Statement,
    StatementFailure,
    StatementId,
    StatementPage,
    StatementState,
    StatementStatistics,
)
from penstock.statements.named_queries import NamedQueries
from penstock.statements.prepared import PreparedStatements
from penstock.statements.resources import ResourceStore
from penstock.statements.store import StatementStore
from penstock.statements.work_groups import PRIMARY, WorkGroups

__all__ = ["QueryService", "StatementRequest"]

_MAX_LONG_POLLS = 4  # each holds a thread of the API
_LONG_POLL_AGE, _LONG_POLL_SECONDS = 2.0, 0.1  # of a statement, since its submission; of one request
_STOPPED = "Query canceled by user"
_LOST = "SERVER_RESTARTED: The server process that ran the statement ended before it was done. Run it again."


class QueryService:
    """Runs statements of one catalog over one lake. The caller closes ``children`` and ``cluster``, after this service."""

    def __init__(
        self,
        *,
        store: StatementStore,
        catalog: CatalogReader,
        changes: CatalogChanges,
        lake: LakeFolder,
        settings: QuerySettings,
        sink: ResultSink,
        children: ChildPool,
        resources: ResourceStore,
        cluster: ClusterEngine | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.catalog = catalog
        self._store = store
        self._changes = changes
        self._lake = lake
        self._sink = sink
        self._children = children
        self._cluster = cluster
        self._clock = clock
        self._ownership = Ownership(dead_after=timedelta(seconds=settings.dead_after_seconds), now=clock)
        self._scheduler: StatementScheduler[Run] = StatementScheduler(settings.workers, self._work)
        self._watch = Watch(store, self._ownership.name, settings, clock, make_room=self._scheduler.make_room)
        self._history = History(store, sink, clock)
        self.work_groups = WorkGroups(
            resources,
            account=settings.account,
            output_location=settings.output_location,
            is_used=self._history.is_used,
            forget=self._forget_work_group,
            clock=clock,
        )
        self.prepared = PreparedStatements(resources, clock)
        self.named_queries = NamedQueries(resources)
        self.data_catalogs = DataCatalogs(resources, account=settings.account)
        self._acceptance = Acceptance(
            self.work_groups,
            self.data_catalogs,
            sink=sink,
            settings=settings,
            children=children,
            owner=self._ownership.name,
            spark=cluster is not None,
        )
        self._lock = threading.Lock()
        self._long_polls = threading.BoundedSemaphore(_MAX_LONG_POLLS)
        self._waiting = 0
        self._closed = False
        self._used = False

    def start(self, request: StatementRequest) -> StatementId:
        """Accept a statement and return its id; it runs as soon as a worker is free.

        Raises :class:`InvalidRequest` for a statement that cannot run, :class:`TooManyRequests` if the queue is full, and
        :class:`penstock.errors.AccessDenied` if its caller may not write the result. If the token was used before for the
        same statement, returns that statement's id.
        """
        group = self._acceptance.work_group(request.workgroup)
        prepared = PermittedStatements(self.prepared, group.name, request.catalog_access)
        statement, text = self._acceptance.accept(request, group, prepared, at=self._clock())
        if request.catalog_access is not None and not statement.managed:
            # As at AWS, the caller writes the result, wherever its location was set.
            request.catalog_access.check_files(PUT_OBJECT, [statement.result_uri])
        with self._lock:
            if self._closed:
                raise TooManyRequests("The server is shutting down.", remedy="Try again in a moment.")
            if self._waiting >= self.settings.workers + self.settings.queue:
                raise TooManyRequests(
                    f"{self._waiting} statements are running or queued, which is the server's limit.",
                    remedy="Wait for some to finish, or stop them.",
                )
            self._waiting += 1
        try:
            # Before it is stored, because a stored statement is run.
            previous = self._previous(statement)
            stored = self._store.add(statement)
        except BaseException:
            self._done()
            raise
        if stored.id != statement.id:
            self._done()
            check_same(stored, statement)
            return stored.id
        self._history.trim_hourly()
        catalog = PermittedCatalog(
            self.catalog,
            self._changes,
            request.catalog_access,
            account=self.settings.account,
            find_name=self.data_catalogs.find,
        )
        run = Run(
            statement,
            text,
            catalog=catalog,
            prepared=prepared,
            lake=self._lake,
            sink=self._sink,
            settings=self.settings,
            children=self._children,
            previous=previous,
            cutoff=group.settings.bytes_cutoff,
            cluster=self._cluster,
            holds=partial(self._holds, statement.id),
        )
        self._submit(run)
        return statement.id

    def poll(self, statement_id: str) -> Statement:
        """Return one statement. If it has just begun in this process, wait up to 0.1 s for its end first (long polling).

        Most statements are done before their clients poll again: PyAthena and awswrangler poll at once, and then after
        0.25 s or 1 s. Raises as :meth:`get`.
        """
        run = self._watch.find(StatementId(statement_id))
        if run is not None and run.age < _LONG_POLL_AGE and self._long_polls.acquire(blocking=False):
            try:
                run.ended.wait(_LONG_POLL_SECONDS)
            finally:
                self._long_polls.release()
        return self.get(statement_id)

    def get(self, statement_id: str) -> Statement:
        """Return one statement. Raises :class:`InvalidRequest` if none has this id."""
        statements = self.get_many([statement_id])
        if not statements:
            raise InvalidRequest(f"QueryExecution {statement_id} was not found", athena_code="INVALID_INPUT")
        return statements[0]

    def get_many(self, ids: Sequence[str]) -> Sequence[Statement]:
        """Return the statements of ``ids`` that exist. A statement whose process has died becomes FAILED."""
        statements = self._store.get_many([StatementId(id_) for id_ in ids])
        lost = [statement for statement in statements if self._fail_orphaned(statement)]
        return self._store.get_many([statement.id for statement in statements]) if lost else statements

    def work_group_of(self, any_id: str) -> str | None:
        """Return the work group of a statement or named query, for authorization; None if there is none of this id."""
        run = self._watch.find(StatementId(any_id))
        statement = run.statement if run is not None else self._store.get(StatementId(any_id))
        if statement is not None:
            return statement.workgroup
        queries = self.named_queries.get_many([any_id])
        return queries[0].work_group if queries else None

    def page(self, *, workgroup: str | None = None, limit: int = 50, token: str | None = None) -> StatementPage:
        """Return a page of the ids of a work group, newest first. Raises :class:`UnknownName` if there is no such group."""
        group = self.work_groups.get(workgroup or PRIMARY)
        return self._store.page(workgroup=group.name, limit=limit or 50, token=token)

    def stop(self, statement_id: str) -> None:
        """Stop a statement in any server process; a statement that is done does not change."""
        state = self._store.request_cancel(StatementId(statement_id), at=self._clock(), reason=_STOPPED)
        if state is None:
            raise InvalidRequest(f"QueryExecution {statement_id} was not found", athena_code="INVALID_INPUT")
        self._watch.interrupt(StatementId(statement_id), _STOPPED)

    def results(
        self,
        statement_id: str,
        *,
        limit: int = 1000,
        token: str | None = None,
        manifest: bool = False,
        access: FileAccess | None = None,
    ) -> tuple[Statement, ResultRows]:
        """Return the statement and a page of its rows; a SELECT's first row is the header.

        The rows of a ``manifest`` are the names of the data files that the statement wrote. ``access`` is the caller's,
        who has to be allowed to read the object, unless the result is a managed one.

        Raises :class:`InvalidRequest` if it has no result (yet), or the object is gone; AccessDenied.
        """
        statement = self.get(statement_id)
        if statement.state not in FINAL_STATES:
            raise InvalidRequest(f"Query has not yet finished. Current state: {statement.state.value}")
        if statement.state is not StatementState.SUCCEEDED:
            raise InvalidRequest(f"Query did not finish successfully. Final query state: {statement.state.value}")
        if not statement.result_uri:
            raise InvalidRequest(
                "The managed result has expired: it was kept for 24 hours.", remedy="Run the statement again."
            )
        offset = _offset(token)
        uri = statement.statistics.manifest_uri if manifest else statement.result_uri
        if uri is None:
            raise InvalidRequest("The statement has no data manifest: it wrote no data files.")
        if access is not None and not statement.managed:
            access.check_files(GET_OBJECT, [uri])
        if not manifest and not statement.has_rows:
            return statement, ResultRows((), None)
        try:
            with self._sink.open(uri, offset) as file:
                quoted = uri.endswith(".csv") and not manifest
                return statement, read_rows(file, offset=offset, count=limit, quoted=quoted)
        except NotFound as error:
            raise InvalidRequest(error.message, remedy=error.remedy) from error

    def recover(self) -> int:
        """Fail the unfinished statements of dead processes, and trim the history; return the number of the former."""
        self._history.trim_hourly()
        statements = self._store.unfinished()
        self._ownership.forget_all_but({statement.id for statement in statements})
        return sum(self._fail_orphaned(statement) for statement in statements)

    def close(self) -> None:
        """Stop all statements that run in this process and end the threads."""
        with self._lock:
            self._closed = True
        self._watch.interrupt_all(StatementError("SERVER_RESTARTED", "The server was stopped.", remedy="Run it again."))
        self._scheduler.close()
        for statement in self._store.unfinished() if self._used else ():
            if self._ownership.owns(statement):
                self._fail(statement, StatementFailure(message=_LOST, category=1, type=0, retryable=True))
        self._watch.close()
        self._ownership.close()

    def _submit(self, run: Run) -> None:
        self._watch.add(run)
        with self._lock:
            if self._closed:
                return  # close() fails the unfinished statements
            self._used = True
        self._scheduler.submit(run)

    def _holds(self, statement_id: StatementId) -> bool:
        """Return whether a statement of this process is still its own; other servers leave it that for a while, then."""
        return self._store.take(statement_id, self._ownership.name, of=self._ownership.name, at=self._clock())

    def _previous(self, statement: Statement) -> Statement | None:
        if statement.reuse_minutes is None or statement.digest is None:
            return None
        previous = self._store.latest(statement.digest, since=self._clock() - timedelta(minutes=statement.reuse_minutes))
        return previous if previous is not None and previous.result_uri else None

    def _work(self, run: Run) -> bool:
        """Run the statement; return False if it was preempted and is to be run again."""
        done = True
        try:
            if run.restarted or self._store.start(run.statement.id, at=self._clock()):
                if not run.restarted:
                    self._watch.started(run)
                self._finish(run)
        except Preempted:
            run.restarted, done = True, False
        finally:
            if done:
                self._watch.remove(run)
                self._done()
            run.clean()
        return done

    def _finish(self, run: Run) -> None:
        statement_id = run.statement.id
        try:
            outcome = run.execute()
            at = self._clock()
            self._store.finish(
                statement_id, StatementState.SUCCEEDED, at=at, statistics=self._timed(run, at), columns=outcome.columns
            )
        except Preempted:
            raise
        except Interrupted:
            at = self._clock()
            self._store.finish(
                statement_id, StatementState.CANCELLED, at=at, reason=str(run.reason), statistics=self._timed(run, at)
            )
        except StatementError as error:
            self._fail(run.statement, error.failure(), run)
        except PenstockError as error:
            self._fail(
                run.statement, StatementError("GENERIC_INTERNAL_ERROR", error.message, remedy=error.remedy).failure(), run
            )
        except BaseException as error:
            # A statement must never stay RUNNING: its state is FAILED before the error goes on to the log.
            what = f"The engine failed: {type(error).__name__}."
            self._fail(run.statement, StatementError("GENERIC_INTERNAL_ERROR", what).failure(), run)
            self._forget_journal(run)
            raise
        self._forget_journal(run)

    def _forget_journal(self, run: Run) -> None:
        if run.journaled:
            forget(run.statement.result_uri, self._sink)

    def _fail(self, statement: Statement, failure: StatementFailure, run: Run | None = None) -> bool:
        at = self._clock()
        failure = replace(failure, message=without_paths(failure.message, self._lake.root))
        statistics = self._timed(run, at) if run is not None else None
        if run is not None and run.committed:
            # What failed came after it: readers see its rows, and nothing takes them back.
            return self._store.finish(statement.id, StatementState.SUCCEEDED, at=at, statistics=statistics)
        return self._store.finish(
            statement.id, StatementState.FAILED, at=at, reason=failure.message, failure=failure, statistics=statistics
        )

    def _timed(self, run: Run, at: datetime) -> StatementStatistics:
        from_submission = int((at - run.statement.submitted).total_seconds() * 1000)
        return run.statistics_after(total_ms=from_submission)

    def _fail_orphaned(self, statement: Statement) -> bool:
        """Fail a statement if its process has died; return whether it had."""
        if statement.state in FINAL_STATES or not self._ownership.is_silent_orphan(
            statement.id, statement, since=statement.submitted
        ):
            return False
        # Of two servers one does it, and its process, if it was only stopped, finds that the statement is no longer its own.
        # No service has the name, so that it is an orphan again if this one ends meanwhile.
        heir = f"{self._ownership.name}:heir"
        if not self._store.take(statement.id, heir, of=statement.owner, heartbeat=statement.heartbeat, at=self._clock()):
            return False
        # It may have died between its last change and its state.
        writes = statement.substatement in WRITING
        if writes and recover(statement.result_uri, self._changes, self._sink, self._has_metadata):
            done = self._store.finish(statement.id, StatementState.SUCCEEDED, at=self._clock())
        else:
            done = self._fail(statement, StatementFailure(message=_LOST, category=1, type=0, retryable=True))
        if writes:
            forget(statement.result_uri, self._sink)
        return done

    def _has_metadata(self, database: str, name: str, location: str) -> bool:
        """Return whether the table's metadata is the file at ``location``, or was, as its log tells."""
        try:
            current = self.catalog.table(database, name).parameters.get("metadata_location")
            if current is None or current == location:
                return current is not None
            log = MetadataFiles(self._lake).read(current).get("metadata-log", ())
        except PenstockError:
            return False
        return any(item.get("metadata-file") == location for item in log)

    def _forget_work_group(self, name: str) -> None:
        """Forget the statements of a deleted work group that are done, and stop the others, which stay in the history."""
        self._history.forget(name)
        for statement in self._store.unfinished():
            if statement.workgroup == name:
                self.stop(statement.id)

    def _done(self) -> None:
        with self._lock:
            self._waiting -= 1


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isascii() or not token.isdigit() or len(token) > 15:
        raise InvalidRequest(f"'{token[:100]}' is not a page token of this result.", remedy="Start again without NextToken.")
    return int(token)
