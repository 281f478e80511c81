"""The registry's store over SQL: a read is one indexed lookup, a write one transaction that checks its preconditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, delete, func, insert, select
from sqlalchemy.engine import RowMapping

from penstock.registry.audit import AuditEntry
from penstock.registry.errors import MetadataExists, RegistryFull, VersionNotFound
from penstock.registry.model import Metadata, ResourcePolicy, ScopeConfig
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import insert_tags, write_audit
from penstock.store.sql.registry.rows import config_row, micros, time_of, to_config
from penstock.store.sql.registry.schemas import SchemaRows
from penstock.store.sql.registry.statements import beginning_with
from penstock.store.sql.registry.tables import (
    audit,
    registry_tags,
    resource_policies,
    schema_ids,
    schema_metadata,
    schema_versions,
    scope_configs,
)

__all__ = ["SqlRegistryStore"]


class SqlRegistryStore(SchemaRows):
    """:class:`penstock.registry.store.RegistryStore` over an SQL database; safe to share between threads.

    Registries and schemas, versions, and their deletion are in the classes it is built from; here is what hangs on them.
    """

    @retried
    def put_metadata(self, version_id: str, pair: Metadata, *, limit: int) -> None:
        mine = schema_metadata.c.version_id == version_id
        same = and_(mine, schema_metadata.c.key == pair.key, schema_metadata.c.value == pair.value)
        with self._database.write() as connection:
            if connection.execute(select(schema_versions.c.id).where(schema_versions.c.id == version_id)).first() is None:
                raise VersionNotFound(f"SchemaVersionId: {version_id}")
            if connection.execute(select(schema_metadata.c.id).where(same)).first() is not None:
                raise MetadataExists(version_id, pair.key, pair.value)
            count = connection.execute(select(func.count()).select_from(schema_metadata).where(mine)).scalar() or 0
            if count >= limit:
                raise RegistryFull(f"{limit} metadata pairs a schema version")
            row = {"version_id": version_id, "key": pair.key, "value": pair.value, "created": micros(pair.created)}
            connection.execute(insert(schema_metadata).values(**row))
            write_audit(connection, "PutMetadata", f"version/{version_id}", pair.key)

    def list_metadata(self, version_id: str) -> Sequence[Metadata]:
        query = select(schema_metadata).where(schema_metadata.c.version_id == version_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(schema_metadata.c.key, schema_metadata.c.id)).mappings()
            return [Metadata(key=row["key"], value=row["value"], created=time_of(row["created"])) for row in rows]

    @retried
    def remove_metadata(self, version_id: str, key: str, value: str) -> bool:
        columns = schema_metadata.c
        wanted = and_(columns.version_id == version_id, columns.key == key, columns.value == value)
        with self._database.write() as connection:
            if connection.execute(delete(schema_metadata).where(wanted)).rowcount == 0:
                return False
            write_audit(connection, "RemoveMetadata", f"version/{version_id}", key)
        return True

    @retried
    def add_tags(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        mine = registry_tags.c.resource == resource
        with self._database.write() as connection:
            known = set(connection.execute(select(registry_tags.c.key).where(mine)).scalars())
            if len(known | tags.keys()) > limit:
                raise RegistryFull(f"{limit} tags a resource")
            connection.execute(delete(registry_tags).where(mine, registry_tags.c.key.in_(list(tags))))
            insert_tags(connection, resource, tags)
            write_audit(connection, "TagResource", resource, ", ".join(sorted(tags)))

    @retried
    def remove_tags(self, resource: str, keys: Sequence[str]) -> None:
        wanted = and_(registry_tags.c.resource == resource, registry_tags.c.key.in_(list(keys)))
        with self._database.write() as connection:
            connection.execute(delete(registry_tags).where(wanted))
            write_audit(connection, "UntagResource", resource, ", ".join(sorted(keys)))

    def get_configs(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        found: dict[str, ScopeConfig] = {}
        for start in range(0, len(scopes), 3):
            chosen = scopes[start : start + 3]
            named = {f"r_{place + 1}": chosen[min(place, len(chosen) - 1)] for place in range(3)}
            found |= {row["scope"]: to_config(row) for row in self._direct.all(self._statements.configs, named)}
        return found

    def list_configs(self, prefix: str) -> Sequence[ScopeConfig]:
        query = select(scope_configs).where(beginning_with(scope_configs.c.scope, prefix)).order_by(scope_configs.c.scope)
        with self._database.read() as connection:
            return [to_config(row) for row in connection.execute(query).mappings()]

    @retried
    def change_config(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        mine = scope_configs.c.scope == scope
        with self._database.write() as connection:
            row = connection.execute(select(scope_configs).where(mine)).mappings().first()
            nothing = ScopeConfig(scope=scope)
            before = nothing if row is None else to_config(row)
            after = change(before)
            if after != before:
                connection.execute(delete(scope_configs).where(mine))
                if after != nothing:
                    connection.execute(insert(scope_configs).values(**config_row(after)))
                write_audit(connection, "DeletePolicy" if after == nothing else "PutPolicy", scope, str(after))
        return None if row is None else before

    def highest_schema_id(self, registry: str) -> int:
        query = select(func.max(schema_ids.c.serial)).where(schema_ids.c.registry == registry)
        with self._database.read() as connection:
            return connection.execute(query).scalar() or 0

    def get_resource_policy(self, resource: str) -> ResourcePolicy | None:
        with self._database.read() as connection:
            return _resource_policy(connection, resource)

    def list_resource_policies(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        query = select(resource_policies).order_by(resource_policies.c.resource).limit(count)
        if after is not None:
            query = query.where(resource_policies.c.resource > after)
        with self._database.read() as connection:
            return [_to_resource_policy(row) for row in connection.execute(query).mappings()]

    @retried
    def put_resource_policy(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        with self._database.write() as connection:
            stored = _resource_policy(connection, policy.resource)
            check(stored)
            if stored is not None:
                policy = replace(policy, created=stored.created)
                connection.execute(delete(resource_policies).where(resource_policies.c.resource == policy.resource))
            times = {"created": micros(policy.created), "updated": micros(policy.updated)}
            row = {"resource": policy.resource, "policy": policy.text, "hash": policy.hash, **times}
            connection.execute(insert(resource_policies).values(**row))
            write_audit(connection, "PutResourcePolicy", policy.resource, f"hash {policy.hash}")
        return policy

    @retried
    def delete_resource_policy(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        with self._database.write() as connection:
            check(_resource_policy(connection, resource))
            connection.execute(delete(resource_policies).where(resource_policies.c.resource == resource))
            write_audit(connection, "DeleteResourcePolicy", resource, "deleted")

    def list_audit(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
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


def _resource_policy(connection: Connection, resource: str) -> ResourcePolicy | None:
    query = select(resource_policies).where(resource_policies.c.resource == resource)
    row = connection.execute(query).mappings().first()
    return None if row is None else _to_resource_policy(row)


def _to_resource_policy(row: RowMapping) -> ResourcePolicy:
    return ResourcePolicy(
        resource=row["resource"],
        text=row["policy"],
        hash=row["hash"],
        created=time_of(row["created"]),
        updated=time_of(row["updated"]),
    )
