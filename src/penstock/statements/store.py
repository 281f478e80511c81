"""The port that stores statements: every change of state is atomic, so several processes can share a store."""

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
        """Store a new statement; if its token was used before, change nothing and return the earlier statement."""
        ...

    def get(self, statement_id: StatementId) -> Statement | None:
        """Return the statement, or None."""
        ...

    def get_many(self, ids: Sequence[StatementId]) -> Sequence[Statement]:
        """Return the statements of ``ids`` that exist, in the order of ``ids``."""
        ...

    def page(self, *, workgroup: str, limit: int, token: str | None = None) -> StatementPage:
        """Return ids of a workgroup, newest first. Statements that are added meanwhile do not shift later pages.

        Raises :class:`penstock.errors.InvalidInput` for an invalid token.
        """
        ...

    def latest(self, digest: str, *, since: datetime) -> Statement | None:
        """Return the newest statement of ``digest`` that was computed, not reused, and succeeded at or after ``since``."""
        ...

    def start(self, statement_id: StatementId, *, at: datetime) -> bool:
        """Change QUEUED to RUNNING; return False if the statement is no longer queued."""
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
        """Set the final state of an unfinished statement; return False if it has one already, which stays."""
        ...

    def request_cancel(self, statement_id: StatementId, *, at: datetime, reason: str) -> StatementState | None:
        """Cancel a queued statement at once, flag a running one. Return the new state, None for an unknown id."""
        ...

    def cancelled_among(self, ids: Sequence[StatementId]) -> frozenset[StatementId]:
        """Return those of ``ids`` that are flagged for cancelling."""
        ...

    def beat(self, owner: str, *, at: datetime) -> None:
        """Record a heartbeat of ``owner`` on all its unfinished statements."""
        ...

    def take(
        self, statement_id: StatementId, owner: str, *, of: str, at: datetime, heartbeat: datetime | None = None
    ) -> bool:
        """Make ``owner`` the owner of an unfinished statement ``of`` another or the same one, with a heartbeat ``at``.

        Return False, and change nothing, if it is done, has another owner, or, unless that is None, another ``heartbeat``.
        """
        ...

    def unfinished(self) -> Sequence[Statement]:
        """Return every queued or running statement, of all owners."""
        ...

    def finished(
        self,
        *,
        limit: int,
        before: datetime | None = None,
        workgroup: str | None = None,
        with_managed_result: bool = False,
    ) -> Sequence[Statement]:
        """Return up to ``limit`` statements that are done, oldest first.

        Only those that were completed before ``before``, of ``workgroup``, and with a managed result that is still kept.
        """
        ...

    def drop_results(self, ids: Sequence[StatementId]) -> None:
        """Record that the results of ``ids`` are kept no longer: their ``result_uri`` becomes empty."""
        ...

    def forget(self, ids: Sequence[StatementId]) -> None:
        """Delete those of ``ids`` that are done."""
        ...


def page_position(token: str) -> int:
    """Return the position of a page token. Raises :class:`InvalidInput` for an invalid token."""
    if not token.isascii() or not token.isdigit() or len(token) > 18:
        raise InvalidInput(f"'{token[:100]}' is not a page token of this list.", remedy="Start again without NextToken.")
    return int(token)
