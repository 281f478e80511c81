"""The port that keeps statements: every change of state is one atomic step, so several processes can share a store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from penstock.errors import InvalidInput
from penstock.statements.model import (
    ResultColumn,
    Statement,
    StatementFailure,
    StatementId,
    StatementPage,
    StatementState,
    StatementStatistics,
)

__all__ = ["StatementStore", "page_position"]


class StatementStore(Protocol):
    """Statements by id. Implementations are safe under concurrent callers in several threads and processes."""

    def add(self, statement: Statement) -> Statement:
        """Keep a new statement; where its token was used before, change nothing and return the earlier statement."""
        ...

    def get(self, statement_id: StatementId) -> Statement | None:
        """The statement, or None."""
        ...

    def get_many(self, ids: Sequence[StatementId]) -> Sequence[Statement]:
        """Those of ``ids`` that exist, in the order asked."""
        ...

    def page(self, *, workgroup: str, limit: int, token: str | None = None) -> StatementPage:
        """Ids of a workgroup, newest first. Statements added meanwhile do not shift later pages.

        Raises :class:`penstock.errors.InvalidInput` for a token that no page gave.
        """
        ...

    def latest(self, digest: str, *, since: datetime) -> Statement | None:
        """The newest statement of ``digest`` that was computed, not reused, and has succeeded at or after ``since``."""
        ...

    def start(self, statement_id: StatementId, *, at: datetime) -> bool:
        """QUEUED to RUNNING; False where it is no longer queued."""
        ...

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
        """Give an unfinished statement its final state; False where it has one already (the first one stays)."""
        ...

    def request_cancel(self, statement_id: StatementId, *, at: datetime, reason: str) -> StatementState | None:
        """Cancel a queued statement at once, flag a running one; the state from now on, None where there is no such id."""
        ...

    def cancelled_among(self, ids: Sequence[StatementId]) -> frozenset[StatementId]:
        """Those of ``ids`` whose cancelling was asked for."""
        ...

    def beat(self, owner: str, *, at: datetime) -> None:
        """``owner`` is alive: stamp all its unfinished statements."""
        ...

    def unfinished(self) -> Sequence[Statement]:
        """Every queued or running statement, of all owners."""
        ...


def page_position(token: str) -> int:
    """The position a page token stands for; :class:`InvalidInput` for a token that no page gave."""
    if not token.isascii() or not token.isdigit() or len(token) > 18:
        raise InvalidInput(f"'{token[:100]}' is not a page token of this list.", remedy="Start again without NextToken.")
    return int(token)
