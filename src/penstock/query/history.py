"""The history of statements: bounded in time, as Athena's is.

Sources: Athena user guide, "View recent queries" (45 days) and "Managed query results" (24 hours).
"""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from penstock.query.ports import ResultSink
from penstock.statements.model import Statement
from penstock.statements.store import StatementStore

__all__ = ["History"]

_KEPT = timedelta(days=45)
_MANAGED_KEPT = timedelta(hours=24)
_EVERY = timedelta(hours=1)
_CHUNK = 500


class History:
    """Forgets statements that are too old, and removes the results that it keeps for work groups."""

    def __init__(self, store: StatementStore, sink: ResultSink, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._sink = sink
        self._clock = clock
        self._lock = threading.Lock()
        self._next: datetime | None = None

    def is_used(self, work_group: str) -> bool:
        """Return whether any statement ran, or is to run, in ``work_group``."""
        return bool(self._store.page(workgroup=work_group, limit=1).ids)

    def forget(self, work_group: str) -> None:
        """Forget the statements of a work group that are done."""
        self._forget(lambda: self._store.finished(workgroup=work_group, limit=_CHUNK))

    def trim_hourly(self) -> None:
        """Call :meth:`trim` if the last call is an hour ago. Does nothing while another thread is trimming."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if self._next is None or now >= self._next:
                self._next = now + _EVERY
                self.trim()
        finally:
            self._lock.release()

    def trim(self) -> None:
        """Remove managed results that are older than 24 hours, and forget statements that are older than 45 days."""
        now = self._clock()
        while statements := self._store.finished(before=now - _MANAGED_KEPT, with_managed_result=True, limit=_CHUNK):
            self._remove(statements)
            self._store.drop_results([statement.id for statement in statements])
        self._forget(lambda: self._store.finished(before=now - _KEPT, limit=_CHUNK))

    def _remove(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            for uri in (statement.result_uri, f"{statement.result_uri}.metadata"):
                self._sink.remove(uri)

    def _forget(self, find: Callable[[], Sequence[Statement]]) -> None:
        while statements := find():
            self._remove([statement for statement in statements if statement.managed and statement.result_uri])
            self._store.forget([statement.id for statement in statements])
