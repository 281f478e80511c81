"""Metadata of versions, and tags of registries and schemas, in SQL."""

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, delete, func, insert, select

from penstock.registry.errors import MetadataExists, RegistryFull, VersionNotFound
from penstock.registry.model import Metadata
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import RegistryDatabase, insert_tags
from penstock.store.sql.registry.tables import registry_tags, schema_metadata, schema_versions
from penstock.store.sql.times import micros, time_of

__all__ = ["SqlMetadata", "SqlTags"]


class SqlMetadata:
    """:class:`penstock.registry.store.MetadataStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database

    @retried
    def put(self, version_id: str, pair: Metadata, *, limit: int) -> None:
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

    def list(self, version_id: str) -> Sequence[Metadata]:
        query = select(schema_metadata).where(schema_metadata.c.version_id == version_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(schema_metadata.c.key, schema_metadata.c.id)).mappings()
            return [Metadata(key=row["key"], value=row["value"], created=time_of(row["created"])) for row in rows]

    @retried
    def remove(self, version_id: str, key: str, value: str) -> bool:
        columns = schema_metadata.c
        pair = and_(columns.version_id == version_id, columns.key == key, columns.value == value)
        with self._database.write() as connection:
            if connection.execute(delete(schema_metadata).where(pair)).rowcount == 0:
                return False
            write_audit(connection, "RemoveMetadata", f"version/{version_id}", key)
        return True


class SqlTags:
    """:class:`penstock.registry.store.TagStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database
        self._direct = shared.direct
        self._statements = shared.statements

    def get(self, resource: str) -> Mapping[str, str]:
        rows = self._direct.all(self._statements.tags, {"r_resource": resource})
        return {row["key"]: row["value"] for row in rows}

    @retried
    def add(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        mine = registry_tags.c.resource == resource
        with self._database.write() as connection:
            stored = set(connection.execute(select(registry_tags.c.key).where(mine)).scalars())
            if len(stored | tags.keys()) > limit:
                raise RegistryFull(f"{limit} tags a resource")
            connection.execute(delete(registry_tags).where(mine, registry_tags.c.key.in_(list(tags))))
            insert_tags(connection, resource, tags)
            write_audit(connection, "TagResource", resource, ", ".join(sorted(tags)))

    @retried
    def remove(self, resource: str, keys: Sequence[str]) -> None:
        removed = and_(registry_tags.c.resource == resource, registry_tags.c.key.in_(list(keys)))
        with self._database.write() as connection:
            connection.execute(delete(registry_tags).where(removed))
            write_audit(connection, "UntagResource", resource, ", ".join(sorted(keys)))
