"""Schemas in SQL."""

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, delete, exists, or_, select, tuple_, update

from penstock.registry.audit import current_actor
from penstock.registry.errors import RegistryNotFound, SchemaExists
from penstock.registry.identity import schema_resource
from penstock.registry.model import AVAILABLE, Schema, SchemaKey, Version
from penstock.store.sql.audit import Change, write_audit
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import RegistryDatabase, count_deletion
from penstock.store.sql.registry.deletion import refuse_referenced
from penstock.store.sql.registry.rows import key_parameters, schema_row, to_schema
from penstock.store.sql.registry.statements import beginning_with, is_schema
from penstock.store.sql.registry.tables import (
    registry_tags,
    resource_policies,
    schema_versions,
    schemas,
    scope_configs,
)
from penstock.store.sql.registry.versions import NewRow, SqlVersions

__all__ = ["SqlSchemas"]


class SqlSchemas:
    """:class:`penstock.registry.store.SchemaStore`."""

    def __init__(self, shared: RegistryDatabase, versions: SqlVersions) -> None:
        self._database = shared.database
        self._direct = shared.direct
        self._statements = shared.statements
        self._cache = shared.cache
        self._audit = shared.audit
        self._versions = versions

    @retried
    def add(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
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
            self._audit.write(transaction, [Change(current_actor(), "CreateSchema", resource, outcome)])
            if first is not None and added is not None:
                [stored] = self._versions.insert(transaction, [NewRow(first, added["id"], current_actor())])
            for key, value in tags.items():
                transaction.run(statements.add_tag, {"resource": resource, "key": key, "value": value})
        return stored

    def get(self, key: SchemaKey) -> Schema | None:
        row = self._direct.first(self._statements.schema, key_parameters(key))
        return None if row is None else to_schema(row)

    def list(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
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
        holds = [condition for listed, condition in ((live, schemas.c.latest.is_not(None)), (deleted, gone)) if listed]
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
    def update(self, schema: Schema) -> bool:
        change = update(schemas).where(is_schema(schema.key), schemas.c.revision == schema.revision)
        with self._database.write() as connection:
            changed = schema_row(schema)
            columns = {name: changed[name] for name in ("compatibility", "checkpoint", "description", "updated")}
            if connection.execute(change.values(**columns, revision=schema.revision + 1)).rowcount == 0:
                return False
            outcome = f"compatibility {schema.compatibility or 'inherited'}, checkpoint {schema.checkpoint}"
            write_audit(connection, "UpdateSchema", schema_resource(schema.key), outcome)
        return True

    def delete(self, key: SchemaKey) -> bool:
        deleted = self._delete(key)
        self._cache.forget()
        return deleted

    @retried
    def _delete(self, key: SchemaKey) -> bool:
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
