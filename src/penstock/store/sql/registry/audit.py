"""The registry's audit log in SQL: each change is recorded in the transaction that makes it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from penstock.registry.audit import MAX_AUDIT_ENTRIES, Actor, AuditEntry, current_actor
from penstock.store.sql.database import Database
from penstock.store.sql.direct import DirectTransaction
from penstock.store.sql.registry.rows import micros, time_of
from penstock.store.sql.registry.statements import Statements
from penstock.store.sql.registry.tables import audit

__all__ = ["Change", "SqlAuditTrail", "write_audit", "write_audits"]

_PRUNE_EVERY = 1_000  # records


class Change(NamedTuple):
    """A change, as the audit log records it."""

    actor: Actor
    operation: str
    resource: str
    outcome: str


class SqlAuditTrail:
    """:class:`penstock.registry.audit.AuditTrail`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
        query = select(audit).order_by(audit.c.id.desc()).limit(count)
        if before is not None:
            query = query.where(audit.c.id < before)
        if resource is not None:
            query = query.where(audit.c.resource == resource)
        with self._database.read() as connection:
            return [
                AuditEntry(
                    number=row["id"],
                    time=time_of(row["time"]),
                    principal=row["principal"],
                    client=row["client"],
                    operation=row["operation"],
                    resource=row["resource"],
                    outcome=row["outcome"],
                )
                for row in connection.execute(query).mappings()
            ]


def write_audit(connection: Connection, operation: str, resource: str, outcome: str) -> None:
    """Record a change by the current actor."""
    row = _row(Change(current_actor(), operation, resource, outcome))
    added = connection.execute(insert(audit).values(**row).returning(audit.c.id))
    number = added.scalar_one()
    if number % _PRUNE_EVERY == 0:
        connection.execute(delete(audit).where(audit.c.id <= number - MAX_AUDIT_ENTRIES))


def write_audits(transaction: DirectTransaction, statements: Statements, changes: Sequence[Change]) -> None:
    """Record the changes of one transaction, in order."""
    transaction.run_all(statements.record, [_row(change) for change in changes])
    last = transaction.run(statements.last_record, {})
    full = 0 if last is None else last["id"] // _PRUNE_EVERY * _PRUNE_EVERY
    if last is not None and full > last["id"] - len(changes):
        transaction.run(statements.forget_records, {"r_last": full - MAX_AUDIT_ENTRIES})


def _row(change: Change) -> dict[str, Any]:
    return {
        "time": micros(datetime.now(UTC)),
        "principal": change.actor.principal[:2048],
        "client": change.actor.client[:255],
        "operation": change.operation,
        "resource": change.resource[:2048],
        "outcome": change.outcome,
    }
