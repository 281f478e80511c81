"""The registry's store over SQL: a read is one indexed lookup, a write one transaction that checks its preconditions."""

import json
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.sql.dml import Insert

from penstock.registry.errors import (
    MetadataExists,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
    VersionNotFound,
)
from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import AVAILABLE, Metadata, Registry, Schema, SchemaKey, Version, VersionHead
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct, DirectTransaction, Prepared, Row
from penstock.store.sql.registry_cache import VersionCache
from penstock.store.sql.registry_tables import (
    registries,
    registry_epoch,
    registry_tags,
    schema_metadata,
    schema_versions,
    schemas,
)

__all__ = ["SqlRegistryStore"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_HEAD = (
    schema_versions.c.id,
    schemas.c.registry,
    schemas.c.name,
    schemas.c.data_format,
    schema_versions.c.number,
    schema_versions.c.status,
    schema_versions.c.created,
)
_BODY = (*_HEAD, schema_versions.c.definition, schema_versions.c.fingerprint, schema_versions.c.verdict)
_JOINED = schema_versions.join(schemas, schema_versions.c.schema_id == schemas.c.id)

# Statements of the hot paths are built once; their parameters are named r_ where a column has the same name.
_ONE_SCHEMA = and_(schemas.c.registry == bindparam("r_registry"), schemas.c.name == bindparam("r_name"))
_SCHEMA = select(schemas).where(_ONE_SCHEMA)
_VERSION = select(*_BODY).select_from(_JOINED)
_BY_ID = _VERSION.where(schema_versions.c.id == bindparam("r_id"))
_BY_NUMBER = _VERSION.where(_ONE_SCHEMA, schema_versions.c.number == bindparam("r_number"))
_BY_FINGERPRINT = _VERSION.where(_ONE_SCHEMA, schema_versions.c.fingerprint == bindparam("r_fingerprint"))
_USABLE = _VERSION.where(
    _ONE_SCHEMA, schema_versions.c.number >= bindparam("r_first"), schema_versions.c.status == AVAILABLE
).order_by(schema_versions.c.number)
_REGISTRY = select(registries).where(registries.c.name == bindparam("r_name"))
_NEXT_VERSION = (
    update(schemas)
    .where(_ONE_SCHEMA, schemas.c.revision == bindparam("r_revision"), schemas.c.next_number == bindparam("r_number"))
    .values(
        next_number=schemas.c.next_number + 1,
        revision=schemas.c.revision + 1,
        updated=bindparam("r_updated"),
        latest=func.coalesce(bindparam("r_latest", type_=schemas.c.latest.type), schemas.c.latest),
    )
    .returning(schemas.c.id)
)
_REMOVE_VERSION = delete(schema_versions).where(schema_versions.c.id == bindparam("r_id"))
_COUNT_DELETION = update(registry_epoch).where(registry_epoch.c.id == 1).values(number=registry_epoch.c.number + 1)


class _Statements:
    """The statements of the hot paths, ready for one database."""

    def __init__(self, database: Database) -> None:
        self.registry = Prepared(database, _REGISTRY)
        self.schema = Prepared(database, _SCHEMA)
        self.by_id = Prepared(database, _BY_ID)
        self.by_number = Prepared(database, _BY_NUMBER)
        self.by_fingerprint = Prepared(database, _BY_FINGERPRINT)
        self.usable = Prepared(database, _USABLE)
        self.next_version = Prepared(database, _NEXT_VERSION)
        self.remove_version = Prepared(database, _REMOVE_VERSION)
        self.count_deletion = Prepared(database, _COUNT_DELETION.returning(registry_epoch.c.id))
        self.first_deletion = Prepared(database, insert(registry_epoch).values(id=1, number=1))
        self.add_schema = Prepared(database, _insert_all(schemas, but="id").returning(schemas.c.id))
        self.add_version = Prepared(database, _insert_all(schema_versions))
        self.add_tag = Prepared(database, _insert_all(registry_tags))


class SqlRegistryStore:
    """:class:`penstock.registry.store.RegistryStore` over an SQL database; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._direct = Direct(database)
        self._statements = _Statements(database)
        self._cache = VersionCache(database)

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
                    created=_micros(registry.created),
                    updated=_micros(registry.updated),
                )
            )
            _insert_tags(connection, registry_resource(registry.name), tags)

    def get_registry(self, name: str) -> Registry | None:
        with self._database.read() as connection:
            return _registry(connection, name)

    def list_registries(self, after: str | None, count: int) -> Sequence[Registry]:
        query = select(registries).order_by(registries.c.name).limit(count)
        if after is not None:
            query = query.where(registries.c.name > after)
        with self._database.read() as connection:
            return [_to_registry(row) for row in connection.execute(query).mappings()]

    def update_registry(self, name: str, description: str, now: datetime) -> bool:
        change = update(registries).where(registries.c.name == name)
        with self._database.write() as connection:
            return connection.execute(change.values(description=description, updated=_micros(now))).rowcount > 0

    def delete_registry(self, name: str) -> bool:
        with self._database.write() as connection:
            if connection.execute(delete(registries).where(registries.c.name == name)).rowcount == 0:
                return False
            # A range, because SQLite's LIKE ignores case; "0" is the character behind "/".
            resource = registry_tags.c.resource
            inside = and_(resource >= f"schema/{name}/", resource < f"schema/{name}0")
            connection.execute(delete(registry_tags).where(or_(resource == registry_resource(name), inside)))
            _count_deletion(connection)
        self._cache.forget()
        return True

    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> None:
        statements = self._statements
        with self._direct.write() as transaction:
            if transaction.run(statements.registry, {"r_name": schema.key.registry}) is None:
                raise RegistryNotFound(schema.key.registry)
            try:
                added = transaction.run(statements.add_schema, _schema_row(schema))
            except self._direct.Conflict:
                raise SchemaExists(*schema.key) from None
            if first is not None and added is not None:
                transaction.run(statements.add_version, {"schema_id": added["id"], **_version_row(first)})
            resource = schema_resource(schema.key)
            for key, value in tags.items():
                transaction.run(statements.add_tag, {"resource": resource, "key": key, "value": value})

    def get_schema(self, key: SchemaKey) -> Schema | None:
        row = self._direct.first(self._statements.schema, _naming(key))
        return None if row is None else _to_schema(row)

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        query = select(schemas).order_by(schemas.c.registry, schemas.c.name).limit(count)
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        if after is not None:
            same = and_(schemas.c.registry == after.registry, schemas.c.name > after.name)
            query = query.where(same if registry is not None else or_(schemas.c.registry > after.registry, same))
        with self._database.read() as connection:
            return [_to_schema(row) for row in connection.execute(query).mappings()]

    def update_schema(self, schema: Schema) -> bool:
        change = update(schemas).where(_is_schema(schema.key), schemas.c.revision == schema.revision)
        with self._database.write() as connection:
            result = connection.execute(
                change.values(
                    compatibility=schema.compatibility.value,
                    checkpoint=schema.checkpoint,
                    description=schema.description,
                    updated=_micros(schema.updated),
                    revision=schema.revision + 1,
                )
            )
            return result.rowcount > 0

    def delete_schema(self, key: SchemaKey) -> bool:
        with self._database.write() as connection:
            if connection.execute(delete(schemas).where(_is_schema(key))).rowcount == 0:
                return False
            connection.execute(delete(registry_tags).where(registry_tags.c.resource == schema_resource(key)))
            _count_deletion(connection)
        self._cache.forget()
        return True

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> bool:
        try:
            added = self._add_version(version, revision, replaces)
        except self._direct.Conflict:
            return False
        if replaces is not None:
            self._cache.forget()
        return added

    def _add_version(self, version: Version, revision: int, replaces: str | None) -> bool:
        step = {
            **_naming(version.key),
            "r_revision": revision,
            "r_number": version.number,
            "r_updated": _micros(version.created),
            "r_latest": version.number if version.status == AVAILABLE else None,
        }
        statements = self._statements
        with self._direct.write() as transaction:
            moved = transaction.run(statements.next_version, step)
            if moved is None:
                return False
            if replaces is not None:
                transaction.run(statements.remove_version, {"r_id": replaces})
                self._count_deletion(transaction)
            transaction.run(statements.add_version, {"schema_id": moved["id"], **_version_row(version)})
        return True

    def _count_deletion(self, transaction: DirectTransaction) -> None:
        if transaction.run(self._statements.count_deletion, {}) is None:
            transaction.run(self._statements.first_deletion, {})

    def get_version(self, version_id: str) -> Version | None:
        return self._one(version_id, self._statements.by_id, {"r_id": version_id})

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._one((*key, number), self._statements.by_number, {**_naming(key), "r_number": number})

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._one(
            (*key, fingerprint), self._statements.by_fingerprint, {**_naming(key), "r_fingerprint": fingerprint}
        )

    def list_versions(self, key: SchemaKey, after: int | None, count: int) -> Sequence[VersionHead]:
        query = select(*_HEAD).select_from(_JOINED).where(_is_schema(key)).order_by(schema_versions.c.number).limit(count)
        if after is not None:
            query = query.where(schema_versions.c.number > after)
        with self._database.read() as connection:
            return [VersionHead(**_head(row)) for row in connection.execute(query).mappings()]

    def usable_versions(self, key: SchemaKey, first: int) -> Sequence[Version]:
        rows = self._direct.all(self._statements.usable, {**_naming(key), "r_first": first})
        return [_to_version(row) for row in rows]

    def delete_versions(self, key: SchemaKey, numbers: range, now: datetime, *, revision: int) -> Sequence[int] | None:
        change = update(schemas).where(_is_schema(key), schemas.c.revision == revision)
        with self._database.write() as connection:
            moved = connection.execute(
                change.values(revision=revision + 1, updated=_micros(now)).returning(schemas.c.id)
            ).scalar()
            if moved is None:
                return None
            mine = schema_versions.c.schema_id == moved
            gone = connection.execute(
                delete(schema_versions)
                .where(mine, schema_versions.c.number.in_(list(numbers)))
                .returning(schema_versions.c.number)
            ).scalars()
            deleted = sorted(gone)
            left = select(func.max(schema_versions.c.number)).where(mine, schema_versions.c.status == AVAILABLE)
            connection.execute(update(schemas).where(schemas.c.id == moved).values(latest=left.scalar_subquery()))
            _count_deletion(connection)
        self._cache.forget()
        return deleted

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
            row = {"version_id": version_id, "key": pair.key, "value": pair.value, "created": _micros(pair.created)}
            connection.execute(insert(schema_metadata).values(**row))

    def list_metadata(self, version_id: str) -> Sequence[Metadata]:
        query = select(schema_metadata).where(schema_metadata.c.version_id == version_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(schema_metadata.c.key, schema_metadata.c.id)).mappings()
            return [Metadata(key=row["key"], value=row["value"], created=_time(row["created"])) for row in rows]

    def remove_metadata(self, version_id: str, key: str, value: str) -> bool:
        columns = schema_metadata.c
        wanted = and_(columns.version_id == version_id, columns.key == key, columns.value == value)
        with self._database.write() as connection:
            return connection.execute(delete(schema_metadata).where(wanted)).rowcount > 0

    def get_tags(self, resource: str) -> Mapping[str, str]:
        query = select(registry_tags).where(registry_tags.c.resource == resource).order_by(registry_tags.c.key)
        with self._database.read() as connection:
            return {row["key"]: row["value"] for row in connection.execute(query).mappings()}

    def add_tags(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        mine = registry_tags.c.resource == resource
        with self._database.write() as connection:
            known = set(connection.execute(select(registry_tags.c.key).where(mine)).scalars())
            if len(known | tags.keys()) > limit:
                raise RegistryFull(f"{limit} tags a resource")
            connection.execute(delete(registry_tags).where(mine, registry_tags.c.key.in_(list(tags))))
            _insert_tags(connection, resource, tags)

    def remove_tags(self, resource: str, keys: Sequence[str]) -> None:
        wanted = and_(registry_tags.c.resource == resource, registry_tags.c.key.in_(list(keys)))
        with self._database.write() as connection:
            connection.execute(delete(registry_tags).where(wanted))

    def _one(self, cache_key: Hashable, query: Prepared, named: Row) -> Version | None:
        cached = self._cache.get(cache_key)
        if cached is not None:
            return cached
        stamp = self._cache.stamp()
        row = self._direct.first(query, named)
        if row is None:
            return None
        version = _to_version(row)
        self._cache.put(cache_key, version, stamp)
        return version


def _insert_all(table: Table, *, but: str = "") -> Insert:
    """An INSERT of every column, by its name, but for one that the database fills in."""
    return insert(table).values({name: bindparam(name) for name in table.columns.keys() if name != but})  # noqa: SIM118


def _naming(key: SchemaKey) -> dict[str, Any]:
    return {"r_registry": key.registry, "r_name": key.name}


def _is_schema(key: SchemaKey) -> ColumnElement[bool]:
    return and_(schemas.c.registry == key.registry, schemas.c.name == key.name)


def _registry(connection: Connection, name: str) -> Registry | None:
    row = connection.execute(_REGISTRY, {"r_name": name}).mappings().first()
    return None if row is None else _to_registry(row)


def _insert_tags(connection: Connection, resource: str, tags: Mapping[str, str]) -> None:
    if tags:
        rows = [{"resource": resource, "key": key, "value": value} for key, value in tags.items()]
        connection.execute(insert(registry_tags), rows)


def _count_deletion(connection: Connection) -> None:
    if connection.execute(_COUNT_DELETION).rowcount == 0:
        connection.execute(insert(registry_epoch).values(id=1, number=1))


def _schema_row(schema: Schema) -> dict[str, Any]:
    return {
        "registry": schema.key.registry,
        "name": schema.key.name,
        "data_format": schema.data_format,
        "compatibility": schema.compatibility.value,
        "description": schema.description,
        "checkpoint": schema.checkpoint,
        "latest": schema.latest,
        "next_number": schema.next_number,
        "revision": schema.revision,
        "created": _micros(schema.created),
        "updated": _micros(schema.updated),
    }


def _version_row(version: Version) -> dict[str, Any]:
    return {
        "id": version.id,
        "number": version.number,
        "status": version.status,
        "fingerprint": version.fingerprint,
        "definition": version.definition,
        "verdict": None if version.verdict is None else _verdict_text(version.verdict),
        "created": _micros(version.created),
    }


def _to_registry(row: Row | RowMapping) -> Registry:
    return Registry(
        name=row["name"], description=row["description"], created=_time(row["created"]), updated=_time(row["updated"])
    )


def _to_schema(row: Row | RowMapping) -> Schema:
    return Schema(
        key=SchemaKey(row["registry"], row["name"]),
        data_format=row["data_format"],
        compatibility=CompatibilityMode(row["compatibility"]),
        description=row["description"],
        checkpoint=row["checkpoint"],
        latest=row["latest"],
        next_number=row["next_number"],
        revision=row["revision"],
        created=_time(row["created"]),
        updated=_time(row["updated"]),
    )


def _head(row: Row | RowMapping) -> dict[str, Any]:
    return {
        "id": row["id"],
        "key": SchemaKey(row["registry"], row["name"]),
        "number": row["number"],
        "status": row["status"],
        "data_format": row["data_format"],
        "created": _time(row["created"]),
    }


def _to_version(row: Row | RowMapping) -> Version:
    verdict = None if row["verdict"] is None else _read_verdict(row["verdict"])
    return Version(**_head(row), definition=row["definition"], fingerprint=row["fingerprint"], verdict=verdict)


def _verdict_text(verdict: CompatibilityVerdict) -> str:
    conflicts = [conflict.to_json() for conflict in verdict.conflicts]
    return json.dumps({"mode": verdict.mode.value, "checked": verdict.checked, "conflicts": conflicts})


def _read_verdict(text: str) -> CompatibilityVerdict:
    value = json.loads(text)
    return CompatibilityVerdict(
        mode=CompatibilityMode(value["mode"]),
        checked=tuple(value["checked"]),
        conflicts=tuple(Conflict.from_json(conflict) for conflict in value["conflicts"]),
    )


def _micros(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _time(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND
