"""Registries in SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from penstock.registry.errors import RegistryExists, RegistryFull
from penstock.registry.identity import registry_resource
from penstock.registry.model import Registry
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import RegistryDatabase, count_deletion, insert_tags
from penstock.store.sql.registry.deletion import refuse_referenced
from penstock.store.sql.registry.rows import to_registry
from penstock.store.sql.registry.statements import REGISTRY, beginning_with
from penstock.store.sql.registry.tables import (
    registries,
    registry_tags,
    resource_policies,
    schema_versions,
    schemas,
    scope_configs,
)
from penstock.store.sql.times import micros

__all__ = ["SqlRegistries"]


class SqlRegistries:
    """:class:`penstock.registry.store.RegistriesStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database
        self._direct = shared.direct
        self._statements = shared.statements
        self._cache = shared.cache

    @retried
    def add(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        with self._database.write() as connection:
            if _registry(connection, registry.name) is not None:
                raise RegistryExists(registry.name)
            if (connection.execute(select(func.count()).select_from(registries)).scalar() or 0) >= limit:
                raise RegistryFull(f"{limit} registries")
            connection.execute(
                insert(registries).values(
                    name=registry.name,
                    description=registry.description,
                    created=micros(registry.created),
                    updated=micros(registry.updated),
                )
            )
            resource = registry_resource(registry.name)
            insert_tags(connection, resource, tags)
            write_audit(connection, "CreateRegistry", resource, "created")

    def get(self, name: str) -> Registry | None:
        row = self._direct.first(self._statements.registry, {"r_name": name})
        return None if row is None else to_registry(row)

    def list(self, after: str | None, count: int) -> Sequence[Registry]:
        query = select(registries).order_by(registries.c.name).limit(count)
        if after is not None:
            query = query.where(registries.c.name > after)
        with self._database.read() as connection:
            return [to_registry(row) for row in connection.execute(query).mappings()]

    @retried
    def update(self, name: str, description: str, now: datetime) -> bool:
        change = update(registries).where(registries.c.name == name)
        with self._database.write() as connection:
            if connection.execute(change.values(description=description, updated=micros(now))).rowcount == 0:
                return False
            write_audit(connection, "UpdateRegistry", registry_resource(name), "description")
        return True

    def delete(self, name: str) -> bool:
        deleted = self._delete(name)
        self._cache.forget()
        return deleted

    @retried
    def _delete(self, name: str) -> bool:
        inside = select(schema_versions.c.id).join(schemas).where(schemas.c.registry == name)
        with self._database.write() as connection:
            refuse_referenced(connection, f"A schema of registry {name}", inside)
            if connection.execute(delete(registries).where(registries.c.name == name)).rowcount == 0:
                return False
            resource, below = registry_resource(name), f"schema/{name}/"
            for column in (registry_tags.c.resource, scope_configs.c.scope, resource_policies.c.resource):
                connection.execute(delete(column.table).where(or_(column == resource, beginning_with(column, below))))
            count_deletion(connection)
            write_audit(connection, "DeleteRegistry", resource, "deleted with all it held")
        return True


def _registry(connection: Connection, name: str) -> Registry | None:
    row = connection.execute(REGISTRY, {"r_name": name}).mappings().first()
    return None if row is None else to_registry(row)
