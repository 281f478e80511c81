"""The audit log in SQL: each change is recorded in the transaction that makes it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
)

from penstock.registry.audit import MAX_AUDIT_ENTRIES, Actor, AuditEntry, current_actor
from penstock.store.sql.database import Database, metadata
from penstock.store.sql.direct import DirectTransaction, Prepared, insert_all
from penstock.store.sql.times import micros, time_of

__all__ = ["AuditWriter", "Change", "SqlAuditTrail", "audit", "write_audit"]

_PRUNE_EVERY = 1_000  # records

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("principal", String(2048), nullable=False),
    Column("client", String(255), nullable=False),
    Column("operation", String(64), nullable=False),
    Column("resource", String(2048), nullable=False),
    Column("outcome", Text, nullable=False),
    Index("ix_audit_resource_id", "resource", "id"),
    sqlite_autoincrement=True,
)


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


class AuditWriter:
    """Records the changes of hot paths, in their own transactions."""

    def __init__(self, dialect: Dialect) -> None:
        self._add = Prepared(dialect, insert_all(audit, but="id"))
        self._last = Prepared(dialect, select(func.max(audit.c.id).label("id")))
        self._prune = Prepared(dialect, delete(audit).where(audit.c.id <= bindparam("r_last")))

    def write(self, transaction: DirectTransaction, changes: Sequence[Change]) -> None:
        """Record the changes of one transaction, in order."""
        transaction.run_all(self._add, [_row(change) for change in changes])
        last = transaction.run(self._last, {})
        full = 0 if last is None else last["id"] // _PRUNE_EVERY * _PRUNE_EVERY
        if last is not None and full > last["id"] - len(changes):
            transaction.run(self._prune, {"r_last": full - MAX_AUDIT_ENTRIES})


def _row(change: Change) -> dict[str, Any]:
    return {
        "time": micros(datetime.now(UTC)),
        "principal": change.actor.principal[:2048],
        "client": change.actor.client[:255],
        "operation": change.operation,
        "resource": change.resource[:2048],
        "outcome": change.outcome,
    }
