"""Statements in memory, for tests and trials."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from threading import RLock

from penstock.statements.model import (
    FINAL_STATES,
    ResultColumn,
    Statement,
    StatementFailure,
    StatementId,
    StatementPage,
    StatementState,
    StatementStatistics,
)
from penstock.statements.store import page_position

__all__ = ["MemoryStatementStore"]


class MemoryStatementStore:
    """:class:`penstock.statements.store.StatementStore` over a dictionary under one lock."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._statements: dict[StatementId, Statement] = {}
        self._tokens: dict[str, StatementId] = {}

    def add(self, statement: Statement) -> Statement:
        with self._lock:
            if statement.token is not None:
                earlier = self._tokens.setdefault(statement.token, statement.id)
                if earlier != statement.id:
                    return self._statements[earlier]
            self._statements[statement.id] = statement
            return statement

    def get(self, statement_id: StatementId) -> Statement | None:
        with self._lock:
            return self._statements.get(statement_id)

    def get_many(self, ids: Sequence[StatementId]) -> Sequence[Statement]:
        with self._lock:
            return [self._statements[each] for each in ids if each in self._statements]

    def page(self, *, workgroup: str, limit: int, token: str | None = None) -> StatementPage:
        with self._lock:
            rows = list(enumerate(self._statements.values()))
        before = page_position(token) if token is not None else len(rows)
        found = [(at, row.id) for at, row in reversed(rows) if row.workgroup == workgroup and at < before]
        more = len(found) > limit
        found = found[:limit]
        return StatementPage(ids=tuple(each for _, each in found), next_token=str(found[-1][0]) if more and found else None)

    def latest(self, digest: str, *, since: datetime) -> Statement | None:
        with self._lock:
            for each in reversed(self._statements.values()):
                done = each.state is StatementState.SUCCEEDED and each.completed is not None and each.completed >= since
                if each.digest == digest and done and not each.statistics.reused:
                    return each
        return None

    def start(self, statement_id: StatementId, *, at: datetime) -> bool:
        with self._lock:
            current = self._statements.get(statement_id)
            if current is None or current.state is not StatementState.QUEUED:
                return False
            self._statements[statement_id] = replace(current, state=StatementState.RUNNING, started=at)
            return True

    def finish(
        self,
        statement_id: StatementId,
        state: StatementState,
        *,
        at: datetime,
        reason: str | None = None,
        failure: StatementFailure | None = None,
        statistics: StatementStatistics | None = None,
        columns: Sequence[ResultColumn] = (),
    ) -> bool:
        with self._lock:
            current = self._statements.get(statement_id)
            if current is None or current.state in FINAL_STATES:
                return False
            self._statements[statement_id] = replace(
                current,
                state=state,
                completed=at,
                reason=reason,
                failure=failure,
                statistics=statistics or current.statistics,
                columns=tuple(columns),
            )
            return True

    def request_cancel(self, statement_id: StatementId, *, at: datetime, reason: str) -> StatementState | None:
        with self._lock:
            current = self._statements.get(statement_id)
            if current is None:
                return None
            if current.state is StatementState.QUEUED:
                current = replace(current, state=StatementState.CANCELLED, completed=at, reason=reason)
            elif current.state is StatementState.RUNNING:
                current = replace(current, cancel_requested=True)
            self._statements[statement_id] = current
            return current.state

    def cancelled_among(self, ids: Sequence[StatementId]) -> frozenset[StatementId]:
        return frozenset(each.id for each in self.get_many(ids) if each.cancel_requested)

    def beat(self, owner: str, *, at: datetime) -> None:
        with self._lock:
            for each in self._statements.values():
                if each.owner == owner and each.state not in FINAL_STATES:
                    self._statements[each.id] = replace(each, heartbeat=at)

    def unfinished(self) -> Sequence[Statement]:
        with self._lock:
            return [each for each in self._statements.values() if each.state not in FINAL_STATES]

    def finished(
        self,
        *,
        limit: int,
        before: datetime | None = None,
        workgroup: str | None = None,
        with_managed_result: bool = False,
    ) -> Sequence[Statement]:
        with self._lock:
            done = [(each.completed, each) for each in self._statements.values() if each.completed is not None]
        found = [
            each
            for completed, each in sorted(done, key=lambda pair: pair[0])
            if (before is None or completed < before)
            and (workgroup is None or each.workgroup == workgroup)
            and (not with_managed_result or (each.managed and each.result_uri))
        ]
        return found[:limit]

    def drop_results(self, ids: Sequence[StatementId]) -> None:
        with self._lock:
            for each in self.get_many(ids):
                self._statements[each.id] = replace(each, result_uri="")

    def forget(self, ids: Sequence[StatementId]) -> None:
        with self._lock:
            for each in self.get_many(ids):
                if each.state in FINAL_STATES:
                    del self._statements[each.id]
