"""Athena's resources in SQL: a row each, with the resource as JSON."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)

from penstock.statements.errors import ResourceLimit
from penstock.statements.resources import Resource, ResourceKind
from penstock.store.sql.database import Database, metadata

__all__ = ["SqlResourceStore", "resources"]

T = TypeVar("T", bound=Resource)

resources = Table(
    "athena_resource",
    metadata,
    Column("kind", String(32), primary_key=True),
    Column("scope", String(128), primary_key=True),
    Column("key", String(256), primary_key=True),
    Column("body", Text, nullable=False),
    Index("ix_athena_resource_scope", "scope"),
    Index("ix_athena_resource_key", "key"),
)


class SqlResourceStore:
    """A :class:`~penstock.statements.resources.ResourceStore` over SQL."""

    def __init__(self, database: Database) -> None:
        self._sql = database

    def add(self, kind: ResourceKind[T], resource: T, *, limit: int) -> bool:
        with self._sql.write() as writer:
            if self._read(writer, _one(kind, resource.scope, resource.key)) is not None:
                return False
            counted = select(func.count()).select_from(resources).where(_all(kind, resource.scope))
            if writer.execute(counted).scalar_one() >= limit:
                raise ResourceLimit.of(kind.name, limit)
            row = {"kind": kind.name, "scope": resource.scope, "key": resource.key, "body": _dump(resource)}
            writer.execute(insert(resources).values(row))
        return True

    def get(self, kind: ResourceKind[T], scope: str, key: str) -> T | None:
        with self._sql.read() as reader:
            body = self._read(reader, _one(kind, scope, key))
        return None if body is None else kind.load(body)

    def get_many(self, kind: ResourceKind[T], scope: str | None, keys: Sequence[str]) -> Sequence[T]:
        query = select(resources.c.key, resources.c.body)
        query = query.where(resources.c.kind == kind.name, resources.c.key.in_(keys))
        if scope is not None:
            query = query.where(resources.c.scope == scope)
        with self._sql.read() as reader:
            by_key = {row.key: kind.load(orjson.loads(row.body)) for row in reader.execute(query)}
        return [by_key[key] for key in keys if key in by_key]

    def list(self, kind: ResourceKind[T], scope: str, *, after: str | None, limit: int) -> Sequence[T]:
        query = select(resources.c.body).where(_all(kind, scope)).order_by(resources.c.key).limit(limit)
        if after is not None:
            query = query.where(resources.c.key > after)
        with self._sql.read() as reader:
            return [kind.load(orjson.loads(body)) for body in reader.execute(query).scalars()]

    def change(self, kind: ResourceKind[T], scope: str, key: str, change: Callable[[T], T]) -> T | None:
        where = _one(kind, scope, key)
        with self._sql.write() as writer:
            body = self._read(writer, where)
            if body is None:
                return None
            new = change(kind.load(body))
            writer.execute(update(resources).where(where).values(body=_dump(new)))
        return new

    def delete(self, kind: ResourceKind[T], scope: str, key: str) -> bool:
        with self._sql.write() as writer:
            return writer.execute(delete(resources).where(_one(kind, scope, key))).rowcount == 1

    def delete_with_scope(self, kind: ResourceKind[T], scope: str, key: str, *, within: str) -> bool:
        with self._sql.write() as writer:
            if not writer.execute(delete(resources).where(_one(kind, scope, key))).rowcount:
                return False
            writer.execute(delete(resources).where(resources.c.scope == within))
        return True

    def is_empty(self, scope: str) -> bool:
        with self._sql.read() as reader:
            return reader.execute(select(resources.c.key).where(resources.c.scope == scope).limit(1)).first() is None

    def _read(self, connection: Connection, where: ColumnElement[bool]) -> Any:
        body = connection.execute(select(resources.c.body).where(where)).scalar_one_or_none()
        return None if body is None else orjson.loads(body)


def _all(kind: ResourceKind[T], scope: str) -> ColumnElement[bool]:
    return and_(resources.c.kind == kind.name, resources.c.scope == scope)


def _one(kind: ResourceKind[T], scope: str, key: str) -> ColumnElement[bool]:
    return and_(_all(kind, scope), resources.c.key == key)


def _dump(resource: Resource) -> str:
    return orjson.dumps(resource).decode()
