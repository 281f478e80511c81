"""What the parts of the registry's SQL store share: connections, statements, the version cache, the record of changes."""

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert

from penstock.registry.audit import MAX_AUDIT_ENTRIES, current_actor
from penstock.registry.model import Version
from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct, DirectTransaction, Prepared, Row
from penstock.store.sql.registry_cache import VersionCache
from penstock.store.sql.registry_rows import micros, to_version
from penstock.store.sql.registry_statements import COUNT_DELETION, Statements
from penstock.store.sql.registry_tables import audit, registry_tags

__all__ = ["RegistryPart", "count_deletion", "insert_tags", "record"]

_PRUNE_EVERY = 1_000  # records


class RegistryPart:
    """One database with the registry's statements."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._direct = Direct(database)
        self._statements = Statements(database)
        self._cache = VersionCache(database)

    def session(self) -> AbstractContextManager[None]:
        return self._database.keeping()

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

    def _record(self, transaction: DirectTransaction, operation: str, resource: str, outcome: str) -> None:
        added = transaction.run(self._statements.record, _record_row(operation, resource, outcome))
        if added is not None and added["id"] % _PRUNE_EVERY == 0:
            transaction.run(self._statements.forget_records, {"r_last": added["id"] - MAX_AUDIT_ENTRIES})


def record(connection: Connection, operation: str, resource: str, outcome: str) -> None:
    """Record a change by the current actor, in the transaction that makes it."""
    added = connection.execute(insert(audit).values(**_record_row(operation, resource, outcome)).returning(audit.c.id))
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


def _record_row(operation: str, resource: str, outcome: str) -> dict[str, Any]:
    actor = current_actor()
    return {
        "time": micros(datetime.now(UTC)),
        "principal": actor.principal[:2048],
        "client": actor.client[:255],
        "operation": operation,
        "resource": resource[:2048],
        "outcome": outcome,
    }
