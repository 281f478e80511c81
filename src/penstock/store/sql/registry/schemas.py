"""Registries and schemas of the registry's SQL store."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, delete, exists, func, insert, or_, select, tuple_, update

from penstock.registry.audit import current_actor
from penstock.registry.errors import RegistryExists, RegistryFull, RegistryNotFound, SchemaExists
from penstock.registry.identity import config_scopes, registry_resource, schema_resource
from penstock.registry.model import AVAILABLE, EffectiveSchema, Registry, Schema, SchemaKey, Version
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import Change, count_deletion, insert_tags, write_audit
from penstock.store.sql.registry.deletion import refuse_referenced
from penstock.store.sql.registry.rows import micros, schema_row, to_registry, to_schema
from penstock.store.sql.registry.statements import REGISTRY, SCOPES, beginning_with, is_schema, naming
from penstock.store.sql.registry.tables import (
    registries,
    registry_tags,
    resource_policies,
    schema_versions,
    schemas,
    scope_configs,
)
from penstock.store.sql.registry.versions import VersionRows

__all__ = ["SchemaRows"]


class SchemaRows(VersionRows):
    """Rows of registries and schemas; what each method does is in :class:`penstock.registry.store.RegistryStore`."""

    @retried
    def add_registry(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
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

    def get_registry(self, name: str) -> Registry | None:
        row = self._direct.first(self._statements.registry, {"r_name": name})
        return None if row is None else to_registry(row)

    def list_registries(self, after: str | None, count: int) -> Sequence[Registry]:
        query = select(registries).order_by(registries.c.name).limit(count)
        if after is not None:
            query = query.where(registries.c.name > after)
        with self._database.read() as connection:
            return [to_registry(row) for row in connection.execute(query).mappings()]

    @retried
    def update_registry(self, name: str, description: str, now: datetime) -> bool:
        change = update(registries).where(registries.c.name == name)
        with self._database.write() as connection:
            if connection.execute(change.values(description=description, updated=micros(now))).rowcount == 0:
                return False
            write_audit(connection, "UpdateRegistry", registry_resource(name), "description")
        return True

    def delete_registry(self, name: str) -> bool:
        deleted = self._delete_registry(name)
        self._cache.forget()
        return deleted

    @retried
    def _delete_registry(self, name: str) -> bool:
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

    @retried
    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
        statements, stored = self._statements, None
        resource = schema_resource(schema.key)
        with self._direct.write() as transaction:
            if transaction.run(statements.registry, {"r_name": schema.key.registry}) is None:
                raise RegistryNotFound(schema.key.registry)
            try:
                added = transaction.run(statements.add_schema, schema_row(schema))
            except self._direct.Conflict as error:
                if self._database.is_retryable(error):
                    raise
                raise SchemaExists(*schema.key) from None
            outcome = f"{schema.data_format} {schema.compatibility or ''}".strip()
            self._record(transaction, Change(current_actor(), "CreateSchema", resource, outcome))
            if first is not None and added is not None:
                stored = self._insert_version(transaction, first, added["id"])
            for key, value in tags.items():
                transaction.run(statements.add_tag, {"resource": resource, "key": key, "value": value})
        return stored

    def get_schema(self, key: SchemaKey) -> Schema | None:
        row = self._direct.first(self._statements.schema, naming(key))
        return None if row is None else to_schema(row)

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        scopes = dict(zip(SCOPES, config_scopes(key), strict=True))
        row = self._direct.first(self._statements.effective, {**naming(key), **scopes})
        # What is decided on this revision is held against versions that were there with it, or later.
        self._cache.refresh()
        if row is None:
            return None
        inherited = row["inherited"]
        return EffectiveSchema(
            schema=to_schema(row),
            mode=row["mode"],
            inherited=None if inherited is None else CompatibilityMode(inherited),
            tags=self.get_tags(schema_resource(key)) if row["tagged"] else {},
        )

    def get_tags(self, resource: str) -> Mapping[str, str]:
        rows = self._direct.all(self._statements.tags, {"r_resource": resource})
        return {row["key"]: row["value"] for row in rows}

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        query = select(schemas).order_by(schemas.c.registry, schemas.c.name).limit(count)
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        if after is not None:
            query = query.where(tuple_(schemas.c.registry, schemas.c.name) > tuple_(*after))
        with self._database.read() as connection:
            return [to_schema(row) for row in connection.execute(query).mappings()]

    def list_subjects(
        self, registry: str | None, prefix: str, after: SchemaKey | None, count: int, *, live: bool, deleted: bool
    ) -> Sequence[SchemaKey]:
        gone = exists().where(
            schema_versions.c.schema_id == schemas.c.id,
            schema_versions.c.deleted.is_not(None),
            schema_versions.c.status == AVAILABLE,
        )
        holds = [condition for wanted, condition in ((live, schemas.c.latest.is_not(None)), (deleted, gone)) if wanted]
        if not holds:
            return []
        query = select(schemas.c.registry, schemas.c.name).where(or_(*holds), beginning_with(schemas.c.name, prefix))
        query = query.order_by(schemas.c.registry, schemas.c.name).limit(count)
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        if after is not None:
            query = query.where(tuple_(schemas.c.registry, schemas.c.name) > tuple_(*after))
        with self._database.read() as connection:
            return [SchemaKey(*row) for row in connection.execute(query)]

    @retried
    def update_schema(self, schema: Schema) -> bool:
        change = update(schemas).where(is_schema(schema.key), schemas.c.revision == schema.revision)
        with self._database.write() as connection:
            changed = schema_row(schema)
            kept = {name: changed[name] for name in ("compatibility", "checkpoint", "description", "updated")}
            if connection.execute(change.values(**kept, revision=schema.revision + 1)).rowcount == 0:
                return False
            outcome = f"compatibility {schema.compatibility or 'inherited'}, checkpoint {schema.checkpoint}"
            write_audit(connection, "UpdateSchema", schema_resource(schema.key), outcome)
        return True

    def delete_schema(self, key: SchemaKey) -> bool:
        deleted = self._delete_schema(key)
        self._cache.forget()
        return deleted

    @retried
    def _delete_schema(self, key: SchemaKey) -> bool:
        mine, resource = is_schema(key), schema_resource(key)
        inside = select(schema_versions.c.id).join(schemas).where(mine)
        with self._database.write() as connection:
            refuse_referenced(connection, f"A version of schema {key.name}", inside)
            if connection.execute(delete(schemas).where(and_(mine))).rowcount == 0:
                return False
            for column in (registry_tags.c.resource, scope_configs.c.scope, resource_policies.c.resource):
                connection.execute(delete(column.table).where(column == resource))
            count_deletion(connection)
            write_audit(connection, "DeleteSchema", resource, "deleted with all versions")
        return True


def _registry(connection: Connection, name: str) -> Registry | None:
    row = connection.execute(REGISTRY, {"r_name": name}).mappings().first()
    return None if row is None else to_registry(row)
