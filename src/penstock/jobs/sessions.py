"""Interactive sessions and their statements. A session's process is a run, which fetches the statements.

Source: Glue API reference, "CreateSession", "RunStatement"; developer guide, "AWS Glue interactive sessions".
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from penstock.errors import AccessDenied, InvalidInput
from penstock.jobs.definitions import check_settings
from penstock.jobs.errors import EntryNotFound, IllegalSession, JobsOff
from penstock.jobs.model import RUNS, JobRun
from penstock.jobs.named import Tagged, TaggedEntries
from penstock.jobs.store import JobStore, Kind
from penstock.paging import Page, page
from penstock.tags import check_tags

__all__ = [
    "SESSIONS",
    "STATEMENTS",
    "Session",
    "SessionService",
    "SessionStatus",
    "Statement",
    "StatementState",
    "is_session_run",
    "session_run",
]

SessionStatus = Literal["PROVISIONING", "READY", "FAILED", "TIMEOUT", "STOPPING", "STOPPED"]
StatementState = Literal["WAITING", "RUNNING", "AVAILABLE", "CANCELLING", "CANCELLED", "ERROR"]
_DEFAULT_MINUTES = 2_880
_MOST_WAITING = 100
_ENDS: Mapping[str, SessionStatus] = {"FAILED": "FAILED", "TIMEOUT": "TIMEOUT"}
_OUT = frozenset({"AVAILABLE", "CANCELLED", "ERROR"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Tagged):
    """A session. ``settings`` are the members of CreateSession; ``ready`` says whether its process takes statements."""

    id: str
    settings: Mapping[str, Any]
    created: datetime
    ready: bool = False
    statements: int = 0

    @property
    def key(self) -> str:
        """The id."""
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement of a session. ``output`` are the members of Glue's StatementOutput, except its state."""

    session: str
    number: int
    code: str
    state: StatementState = "WAITING"
    output: Mapping[str, Any] = field(default_factory=dict)
    created: datetime
    completed: datetime | None = None

    @property
    def key(self) -> str:
        """``SESSION/NUMBER``."""
        return f"{self.session}/{self.number}"

    @property
    def scope(self) -> str:
        """The session."""
        return self.session

    @property
    def rank(self) -> str:
        """By number."""
        return f"{self.number:08}"

    @property
    def active(self) -> bool:
        """Whether its output is still to come."""
        return self.state not in _OUT


SESSIONS = Kind("session", Session)
STATEMENTS = Kind("statement", Statement)


def session_run(session_id: str) -> str:
    """Return the id of the run that is a session's process."""
    return f"session_{hashlib.sha256(session_id.encode()).hexdigest()}"


def is_session_run(run: JobRun) -> bool:
    """Return whether a run is a session's process; a job may have any name, but no run of it has a session's id."""
    return run.id == session_run(run.job.removeprefix("session "))


def _session_of(run: JobRun) -> str:
    """Return the session whose process a run is. Raises :class:`AccessDenied` for any other."""
    if not is_session_run(run):
        raise AccessDenied("The run is not the process of a session.")
    return run.job.removeprefix("session ")


class SessionService(TaggedEntries[Session]):
    """The sessions of an account."""

    def __init__(
        self,
        store: JobStore,
        *,
        enabled: bool = True,
        wake: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(store, SESSIONS, "session")
        self._enabled = enabled
        self._wake = wake
        self._now = now

    def create(self, session_id: str, settings: Mapping[str, Any], tags: Mapping[str, str]) -> Session:
        """Start a session. Raises :class:`EntryExists`, :class:`InvalidInput`, :class:`JobsOff`."""
        if not self._enabled:
            raise JobsOff("sessions")
        if (settings.get("Command") or {}).get("Name") not in {"glueetl", "gluestreaming"}:
            raise InvalidInput("A session's command is glueetl or gluestreaming.")
        check_tags(tags)
        command = {"Name": "glueetl", "PythonVersion": "3"}
        idle = str(settings.get("IdleTimeout") or settings.get("Timeout") or _DEFAULT_MINUTES)
        defaults = {**(settings.get("DefaultArguments") or {}), "--penstock-idle-minutes": idle}
        run_settings = {"Timeout": _DEFAULT_MINUTES, **settings, "Command": command, "DefaultArguments": defaults}
        check_settings(run_settings, with_script=False)
        now = self._now()
        session = Session(id=session_id, settings=settings, tags=tags, created=now)
        self._add(session)
        run = JobRun(
            id=session_run(session_id), job=f"session {session_id}", settings=run_settings, started=now, modified=now
        )
        self._store.add(RUNS, run)
        self._wake()
        return session

    def run(self, session_id: str) -> JobRun | None:
        """Return the run that is the session's process."""
        return self._store.get(RUNS, session_run(session_id))

    def status(self, session: Session) -> SessionStatus:
        """Return the status of a session."""
        run = self.run(session.id)
        if run is None or run.ended:
            return _ENDS.get(run.state if run is not None else "", "STOPPED")
        if run.state == "STOPPING":
            return "STOPPING"
        return "READY" if session.ready else "PROVISIONING"

    def stop(self, session_id: str) -> None:
        """Stop a session. Raises :class:`EntryNotFound`, and :class:`IllegalSession` if it has ended."""
        session = self.get(session_id)
        if self.status(session) in {"STOPPED", "FAILED", "TIMEOUT"}:
            raise IllegalSession(f"Session {session_id} is {self.status(session)} already.")
        now = self._now()

        def request(run: JobRun) -> JobRun:
            if run.ended:
                return run
            if run.owner is None:
                return replace(run, state="STOPPED", modified=now, completed=now)
            return replace(run, state="STOPPING", modified=now)

        self._store.change(RUNS, session_run(session_id), request)
        self._wake()

    def delete(self, session_id: str) -> None:
        """Delete a session with its statements. Raises :class:`EntryNotFound`, :class:`IllegalSession` while it runs."""
        if self.status(self.get(session_id)) in {"PROVISIONING", "READY", "STOPPING"}:
            raise IllegalSession(f"Session {session_id} is running.", remedy="Stop it first.")
        self._store.delete_scope(STATEMENTS, session_id)
        self._store.delete(RUNS, session_run(session_id))
        self._store.delete(SESSIONS, session_id)

    def submit(self, session_id: str, code: str) -> Statement:
        """Add a statement. Raises :class:`EntryNotFound`, :class:`IllegalSession` unless the session is ready."""
        status = self.status(self.get(session_id))
        if status != "READY":
            raise IllegalSession(f"Session {session_id} is {status}: statements need READY.")
        numbered = self._change(session_id, lambda session: replace(session, statements=session.statements + 1))
        waiting = [statement for statement in self._store.active(STATEMENTS) if statement.session == session_id]
        if len(waiting) >= _MOST_WAITING:
            raise IllegalSession(f"{_MOST_WAITING} statements of session {session_id} are waiting.")
        statement = Statement(session=session_id, number=numbered.statements, code=code, created=self._now())
        self._store.add(STATEMENTS, statement)
        return statement

    def statement(self, session_id: str, number: int) -> Statement:
        """Return a statement: one of a session that has ended is cancelled. Raises :class:`EntryNotFound`."""
        session = self.get(session_id)
        statement = self._store.get(STATEMENTS, f"{session_id}/{number}")
        if statement is None:
            raise EntryNotFound("statement", str(number))
        return self._of_ended(session, statement)

    def statements(self, session_id: str, *, limit: int, token: str | None = None) -> Page[Statement]:
        """Return up to ``limit`` statements in order. Raises :class:`EntryNotFound`."""
        session = self.get(session_id)

        def read(after: str | None, count: int) -> Sequence[Statement]:
            rows = self._store.list(STATEMENTS, session_id, after=after, limit=count)
            return [self._of_ended(session, statement) for statement in rows]

        return page(f"statements:{session_id}", token, limit, read, lambda statement: statement.rank, kind=str)

    def cancel(self, session_id: str, number: int) -> None:
        """Cancel a statement that waits or runs. Raises :class:`EntryNotFound`."""
        self.statement(session_id, number)

        def request(statement: Statement) -> Statement:
            if statement.state == "WAITING":
                return replace(statement, state="CANCELLED", completed=self._now())
            return replace(statement, state="CANCELLING") if statement.state == "RUNNING" else statement

        self._store.change(STATEMENTS, f"{session_id}/{number}", request)

    def take(self, run: JobRun) -> Mapping[str, Any]:
        """Return what the process of a session is to do: the next statement, and whether the current one is cancelled."""
        session_id = _session_of(run)
        session = self._store.get(SESSIONS, session_id)
        if session is not None and not session.ready:
            self._store.change(SESSIONS, session_id, lambda entry: replace(entry, ready=True))
        mine = [statement for statement in self._store.active(STATEMENTS) if statement.session == session_id]
        current = next((statement for statement in mine if statement.state in {"RUNNING", "CANCELLING"}), None)
        if current is not None:
            return {"current": current.number, "cancel": current.state == "CANCELLING"}
        for statement in mine:
            started = self._store.change(
                STATEMENTS,
                statement.key,
                lambda entry: replace(entry, state="RUNNING") if entry.state == "WAITING" else entry,
            )
            if started is not None and started.state == "RUNNING":
                return {"id": started.number, "code": started.code}
        return {}

    def answer(self, run: JobRun, number: int, output: Mapping[str, Any], *, cancelled: bool) -> None:
        """Record the output of a statement, as its process tells it.

        One whose code raised is AVAILABLE as well, with the error in its output, as the notebook kernel of AWS reads it
        (aws-glue-sessions, ``BaseKernel``).
        """
        state: StatementState = "CANCELLED" if cancelled else "AVAILABLE"

        def record(statement: Statement) -> Statement:
            return replace(statement, state=state, output=output, completed=self._now()) if statement.active else statement

        self._store.change(STATEMENTS, f"{_session_of(run)}/{number}", record)

    def _of_ended(self, session: Session, statement: Statement) -> Statement:
        if statement.active and self.status(session) in {"STOPPED", "FAILED", "TIMEOUT"}:
            return replace(statement, state="CANCELLED")
        return statement
