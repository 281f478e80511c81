"""Watch the statements that run in this process: stops requested in other processes, time limits, and heartbeats."""

import threading
import time
from collections.abc import Callable
from datetime import datetime

from penstock.owners import Poller
from penstock.query.execution.running import Run
from penstock.query.settings import QuerySettings
from penstock.sql.errors import StatementError
from penstock.statements.model import StatementId
from penstock.statements.store import StatementStore

__all__ = ["Watch"]


class Watch:
    """One thread, started with the first statement. It also calls ``make_room``, several times a second."""

    def __init__(
        self,
        store: StatementStore,
        owner: str,
        settings: QuerySettings,
        clock: Callable[[], datetime],
        *,
        make_room: Callable[[], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._settings = settings
        self._clock = clock
        self._make_room = make_room
        self._lock = threading.Lock()
        self._runs: dict[StatementId, Run] = {}
        self._deadlines: dict[StatementId, float] = {}
        # If it ended, statements would have no time limit: running ones go on, and the next look tries again.
        self._poller = Poller(
            self._look, name="penstock-sql-watch", what="watching the running statements", pause=settings.poll_seconds
        )
        self._beaten = time.monotonic()

    def add(self, run: Run) -> None:
        """Watch a queued statement."""
        with self._lock:
            first = not self._runs
            self._runs[run.statement.id] = run
        self._poller.begin()
        if first:
            self._poller.wake()

    def started(self, run: Run) -> None:
        """Begin the time limit of the statement, which runs now."""
        run.started = time.monotonic()
        with self._lock:
            self._deadlines[run.statement.id] = run.started + self._settings.timeout_seconds

    def remove(self, run: Run) -> None:
        """Stop watching the statement, which is done."""
        with self._lock:
            self._runs.pop(run.statement.id, None)
            self._deadlines.pop(run.statement.id, None)
        run.ended.set()

    def find(self, statement_id: StatementId) -> Run | None:
        """Return the statement if it is queued or runs here."""
        with self._lock:
            return self._runs.get(statement_id)

    def interrupt(self, statement_id: StatementId, reason: StatementError | str) -> None:
        """Interrupt the statement if it runs here."""
        run = self.find(statement_id)
        if run is not None:
            run.interrupt(reason)

    def interrupt_all(self, reason: StatementError) -> None:
        """Interrupt everything."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.interrupt(reason)

    def close(self) -> None:
        """End the thread."""
        self._poller.close()

    def _look(self) -> float | None:
        self._make_room()
        now = time.monotonic()
        with self._lock:
            runs = dict(self._runs)
            late = [runs[name] for name, deadline in self._deadlines.items() if deadline < now]
        for run in late:
            run.interrupt(
                StatementError(
                    "EXCEEDED_TIME_LIMIT",
                    f"The query ran longer than {self._settings.timeout_seconds:g} seconds.",
                    remedy="Read fewer partitions, or raise the server's limit.",
                )
            )
        for statement_id in self._store.cancelled_among(list(runs)):
            runs[statement_id].interrupt("Query canceled by user")
        # An interruption that came between two steps of the engine is repeated until the statement has ended.
        for run in runs.values():
            if run.reason is not None:
                run.interrupt(run.reason)
        if runs and now - self._beaten >= self._settings.heartbeat_seconds:
            self._store.beat(self._owner, at=self._clock())
            self._beaten = now
        return self._settings.poll_seconds if runs else None
