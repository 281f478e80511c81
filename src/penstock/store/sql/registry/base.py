"""What the parts of the registry's SQL store share: connections, statements, the version cache, the audit log."""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert

from penstock.registry.audit import MAX_AUDIT_ENTRIES, Actor, current_actor
from penstock.registry.model import Version
from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct, DirectTransaction, Prepared, Row
from penstock.store.sql.registry.cache import VersionCache
from penstock.store.sql.registry.rows import micros, to_version
from penstock.store.sql.registry.statements import COUNT_DELETION, Statements
from penstock.store.sql.registry.tables import audit, registry_tags

__all__ = ["Change", "RegistryPart", "count_deletion", "insert_tags", "write_audit"]

_PRUNE_EVERY = 1_000  # records


class Change(NamedTuple):
    """What the audit log says of one."""

    actor: Actor
    operation: str
    resource: str
    outcome: str


class RegistryPart:
    """One database with the registry's statements."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._direct = Direct(database)
        self._statements = Statements(database)
        self._cache = VersionCache(database)

    @contextmanager
    def session(self) -> Iterator[None]:
        with self._database.pin_connection(), self._cache.snapshot():
            yield

    def _one(self, cache_key: Hashable, query: Prepared, named: Row) -> Version | None:
        cached, stamp = self._cache.get(cache_key)
        if cached is not None:
            return cached
        row = self._direct.first(query, named)
        if row is None:
            return None
        version = to_version(row)
        self._cache.put(cache_key, version, stamp)
        return version

    def _record(self, transaction: DirectTransaction, *changes: Change) -> None:
        """Record ``changes`` of one transaction, in order."""
        transaction.run_all(self._statements.record, [_record_row(*change) for change in changes])
        last = transaction.run(self._statements.last_record, {})
        full = 0 if last is None else last["id"] // _PRUNE_EVERY * _PRUNE_EVERY
        if last is not None and full > last["id"] - len(changes):
            transaction.run(self._statements.forget_records, {"r_last": full - MAX_AUDIT_ENTRIES})


def write_audit(connection: Connection, operation: str, resource: str, outcome: str) -> None:
    """Record a change by the current actor, in the transaction that makes it."""
    row = _record_row(current_actor(), operation, resource, outcome)
    added = connection.execute(insert(audit).values(**row).returning(audit.c.id))
    number = added.scalar_one()
    if number % _PRUNE_EVERY == 0:
        connection.execute(delete(audit).where(audit.c.id <= number - MAX_AUDIT_ENTRIES))


def count_deletion(connection: Connection) -> None:
    """Tell every process that versions it has in memory may be gone."""
    connection.execute(COUNT_DELETION)


def insert_tags(connection: Connection, resource: str, tags: Mapping[str, str]) -> None:
    """Add tags that are not there."""
    if tags:
        rows = [{"resource": resource, "key": key, "value": value} for key, value in tags.items()]
        connection.execute(insert(registry_tags), rows)


def _record_row(actor: Actor, operation: str, resource: str, outcome: str) -> dict[str, Any]:
    return {
        "time": micros(datetime.now(UTC)),
        "principal": actor.principal[:2048],
        "client": actor.client[:255],
        "operation": operation,
        "resource": resource[:2048],
        "outcome": outcome,
    }
