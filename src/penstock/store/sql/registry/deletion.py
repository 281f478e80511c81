"""Deletion of schema versions in SQL, and the check that no other version refers to a deleted one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, select, update

from penstock.registry.errors import VersionReferenced
from penstock.registry.identity import schema_resource
from penstock.registry.model import AVAILABLE, SchemaKey
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import RegistryDatabase, count_deletion
from penstock.store.sql.registry.rows import to_head
from penstock.store.sql.registry.statements import HEAD, JOINED, is_schema
from penstock.store.sql.registry.tables import schema_references, schema_versions, schemas
from penstock.store.sql.times import micros

__all__ = ["SqlDeletion", "refuse_referenced"]

_SHOWN = 20  # referrers that an error carries


class SqlDeletion:
    """:class:`penstock.registry.store.DeletionStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database
        self._cache = shared.cache

    def delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        deleted = self._delete(key, numbers, now, revision)
        self._cache.forget()
        return deleted

    def soft_delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        marked = self._soft_delete(key, numbers, now, revision)
        self._cache.forget()
        return marked

    @retried
    def _delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, revision: int) -> Sequence[int] | None:
        with self._database.write() as connection:
            schema_row = _step(connection, key, now, revision)
            if schema_row is None:
                return None
            chosen = and_(schema_versions.c.schema_id == schema_row, schema_versions.c.number.in_(list(numbers)))
            refuse_referenced(connection, f"A version of schema {key.name}", select(schema_versions.c.id).where(chosen))
            numbers_deleted = connection.execute(
                delete(schema_versions).where(chosen).returning(schema_versions.c.number)
            ).scalars()
            deleted = sorted(numbers_deleted)
            _finish(connection, key, schema_row, "DeleteVersions", deleted)
        return deleted

    @retried
    def _soft_delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, revision: int) -> Sequence[int] | None:
        with self._database.write() as connection:
            schema_row = _step(connection, key, now, revision)
            if schema_row is None:
                return None
            chosen = and_(
                schema_versions.c.schema_id == schema_row,
                schema_versions.c.number.in_(list(numbers)),
                schema_versions.c.deleted.is_(None),
            )
            targets = select(schema_versions.c.id).where(chosen)
            _refuse(connection, f"A version of schema {key.name}", targets, schema_versions.c.deleted.is_(None))
            change = update(schema_versions).where(chosen).values(deleted=micros(now))
            marked = sorted(connection.execute(change.returning(schema_versions.c.number)).scalars())
            _finish(connection, key, schema_row, "SoftDeleteVersions", marked)
        return marked


def refuse_referenced(connection: Connection, what: str, targets: Select[Any]) -> None:
    """Raise :class:`VersionReferenced` if versions other than ``targets`` (version ids) refer to them.

    Their own references are deleted, so that they can be deleted in any order.
    """
    _refuse(connection, what, targets, schema_references.c.version_id.not_in(targets))
    connection.execute(delete(schema_references).where(schema_references.c.version_id.in_(targets)))


def _refuse(connection: Connection, what: str, targets: Select[Any], counts: Any) -> None:
    query = (
        select(*HEAD)
        .select_from(JOINED.join(schema_references, schema_references.c.version_id == schema_versions.c.id))
        .where(schema_references.c.target_id.in_(targets), counts)
        .order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number)
        .distinct()
        .limit(_SHOWN)
    )
    referrers = [to_head(row) for row in connection.execute(query).mappings()]
    if referrers:
        raise VersionReferenced(what, referrers)


def _step(connection: Connection, key: SchemaKey, now: datetime, revision: int) -> int | None:
    """Move the schema to its next revision; return its row's id, or None if it has another revision."""
    change = update(schemas).where(is_schema(key), schemas.c.revision == revision)
    moved: int | None = connection.execute(
        change.values(revision=revision + 1, updated=micros(now)).returning(schemas.c.id)
    ).scalar()
    return moved


def _finish(connection: Connection, key: SchemaKey, schema_row: int, operation: str, numbers: Sequence[int]) -> None:
    latest = (
        select(schema_versions.c.number)
        .where(
            schema_versions.c.schema_id == schema_row,
            schema_versions.c.status == AVAILABLE,
            schema_versions.c.deleted.is_(None),
        )
        .order_by(schema_versions.c.number.desc())
        .limit(1)
    )
    connection.execute(update(schemas).where(schemas.c.id == schema_row).values(latest=latest.scalar_subquery()))
    count_deletion(connection)
    shown = ", ".join(str(number) for number in numbers[:50]) or "none"
    write_audit(connection, operation, schema_resource(key), f"versions {shown}")
