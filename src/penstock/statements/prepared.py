"""Prepared statements: SQL with parameters, by name within a work group.

Sources: Athena API reference, "CreatePreparedStatement" and its neighbours; Athena user guide, "Use prepared statements" and
"Service Quotas" (1,000 prepared statements in a work group). Names are compared as they are written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from penstock.paging import Page, page
from penstock.statements.errors import ResourceExists, ResourceNotFound
from penstock.statements.resources import ResourceKind, ResourceStore

__all__ = ["MAX_PREPARED_STATEMENTS", "PREPARED_STATEMENTS", "PreparedStatement", "PreparedStatements"]

MAX_PREPARED_STATEMENTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStatement:
    """One prepared statement. ``sql`` has a ``?`` for each parameter."""

    name: str
    work_group: str
    sql: str
    description: str | None = None
    modified: datetime

    @property
    def scope(self) -> str:
        """The work group's name."""
        return self.work_group

    @property
    def key(self) -> str:
        """The statement's name."""
        return self.name


def _load(members: Mapping[str, Any]) -> PreparedStatement:
    return PreparedStatement(**{**members, "modified": datetime.fromisoformat(members["modified"])})


PREPARED_STATEMENTS = ResourceKind("prepared statement", _load)


class PreparedStatements:
    """The prepared statements of one account, for Athena's operations and for PREPARE, EXECUTE and DEALLOCATE PREPARE.

    Callers check that the work group exists.
    """

    def __init__(self, store: ResourceStore, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._clock = clock

    def create(self, work_group: str, name: str, sql: str, description: str | None = None) -> PreparedStatement:
        """Store a new prepared statement. Raises :class:`ResourceExists` if the work group has one of this name.

        Raises :class:`penstock.errors.LimitExceeded` for more than :data:`MAX_PREPARED_STATEMENTS` in a work group.
        """
        statement = PreparedStatement(
            name=name, work_group=work_group, sql=sql, description=description, modified=self._clock()
        )
        if not self._store.add(PREPARED_STATEMENTS, statement, limit=MAX_PREPARED_STATEMENTS):
            raise ResourceExists(f"PreparedStatement {name} already exists in WorkGroup {work_group}")
        return statement

    def get(self, work_group: str, name: str) -> PreparedStatement:
        """Return one prepared statement. Raises :class:`ResourceNotFound` if the work group has none of this name."""
        statement = self._store.get(PREPARED_STATEMENTS, work_group, name)
        if statement is None:
            raise _not_found(work_group, name)
        return statement

    def get_many(self, work_group: str, names: Sequence[str]) -> Sequence[PreparedStatement]:
        """Return those of ``names`` that exist, in the order of ``names``."""
        return self._store.get_many(PREPARED_STATEMENTS, work_group, names)

    def list(self, work_group: str, *, limit: int, token: str | None = None) -> Page[PreparedStatement]:
        """Return a page of the work group's prepared statements, by name.

        Raises :class:`penstock.paging.InvalidToken` for a token of another listing.
        """
        return page(
            f"prepared:{work_group}",
            token,
            limit,
            lambda after, count: self._store.list(PREPARED_STATEMENTS, work_group, after=after, limit=count),
            lambda prepared_statement: prepared_statement.name,
            kind=str,
        )

    def update(self, work_group: str, name: str, sql: str, description: str | None = None) -> PreparedStatement:
        """Replace SQL and description; None keeps the description. Raises :class:`ResourceNotFound`."""

        def changed(old: PreparedStatement) -> PreparedStatement:
            kept = old.description if description is None else description
            return replace(old, sql=sql, description=kept, modified=self._clock())

        statement = self._store.change(PREPARED_STATEMENTS, work_group, name, changed)
        if statement is None:
            raise _not_found(work_group, name)
        return statement

    def delete(self, work_group: str, name: str) -> None:
        """Delete one prepared statement. Raises :class:`ResourceNotFound`."""
        if not self._store.delete(PREPARED_STATEMENTS, work_group, name):
            raise _not_found(work_group, name)


def _not_found(work_group: str, name: str) -> ResourceNotFound:
    return ResourceNotFound(f"PreparedStatement {name} was not found in WorkGroup {work_group}")
