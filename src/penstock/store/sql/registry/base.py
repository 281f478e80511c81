"""Shared by the parts of the registry's SQL store: one database with its statements and its version cache."""

from collections.abc import Mapping

from sqlalchemy import Connection, insert

from penstock.store.sql.audit import AuditWriter
from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct, once_per_dialect
from penstock.store.sql.registry.cache import VersionCache
from penstock.store.sql.registry.statements import COUNT_DELETION, Statements
from penstock.store.sql.registry.tables import registry_tags

__all__ = ["RegistryDatabase", "count_deletion", "insert_tags"]

_statements = once_per_dialect(Statements)
_audit_writer = once_per_dialect(AuditWriter)


class RegistryDatabase:
    """A database with the registry's statements and caches, and its audit log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.direct = Direct(database)
        self.statements = _statements(database)
        self.cache = VersionCache(database)
        self.audit = _audit_writer(database)


def count_deletion(connection: Connection) -> None:
    """Increment the number of deletions, so that every process drops its cached versions."""
    connection.execute(COUNT_DELETION)


def insert_tags(connection: Connection, resource: str, tags: Mapping[str, str]) -> None:
    """Add tags that do not exist yet."""
    if tags:
        rows = [{"resource": resource, "key": key, "value": value} for key, value in tags.items()]
        connection.execute(insert(registry_tags), rows)
