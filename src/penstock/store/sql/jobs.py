"""Jobs in SQL: a row for each entry, with the entry as JSON."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
from sqlalchemy import (
    Boolean,
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
from sqlalchemy.exc import IntegrityError

from penstock.jobs.errors import TooManyEntries
from penstock.jobs.store import Entry, Kind
from penstock.store.sql.database import Database, metadata

__all__ = ["SqlJobStore", "entries"]

T = TypeVar("T", bound=Entry)
P = TypeVar("P", bound=Entry)

entries = Table(
    "job_entry",
    metadata,
    Column("kind", String(24), primary_key=True),
    Column("key", String(400), primary_key=True),
    Column("scope", String(400), nullable=False),
    Column("rank", String(500), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_job_entry_scope", "kind", "scope", "rank"),
    Index("ix_job_entry_active", "active", "kind"),
)


class SqlJobStore:
    """A :class:`~penstock.jobs.store.JobStore` over SQL."""

    def __init__(self, database: Database) -> None:
        self._sql = database

    def add(self, kind: Kind[T], entry: T, *, limit: int | None = None) -> bool:
        with self._sql.write() as writer:
            if limit is not None and self._read(writer, kind, entry.key) is None:
                there = select(func.count()).where(entries.c.kind == kind.name, entries.c.scope == entry.scope)
                if writer.execute(there).scalar_one() >= limit:
                    raise TooManyEntries(f"{kind.name}s", limit)
            return self._add(writer, kind, entry)

    def add_under(
        self, parent: Kind[P], key: str, kind: Kind[T], make: Callable[[P, Sequence[T]], T]
    ) -> tuple[T, bool] | None:
        with self._sql.write() as writer:
            above = self._read(writer, parent, key, lock=True)
            if above is None:
                return None
            running = and_(entries.c.kind == kind.name, entries.c.scope == key, entries.c.active)
            query = select(entries.c.body).where(running).order_by(entries.c.rank)
            entry = make(above, [_load(kind, body) for body in writer.execute(query).scalars()])
            if self._add(writer, kind, entry):
                return entry, True
            stored = self._read(writer, kind, entry.key)
            assert stored is not None
            return stored, False

    def get(self, kind: Kind[T], key: str) -> T | None:
        with self._sql.read() as reader:
            return self._read(reader, kind, key)

    def list(self, kind: Kind[T], scope: str, *, after: str | None, limit: int, newest_first: bool = False) -> Sequence[T]:
        rank = entries.c.rank
        query = select(entries.c.body).where(entries.c.kind == kind.name, entries.c.scope == scope)
        query = query.order_by(rank.desc() if newest_first else rank).limit(limit)
        if after is not None:
            query = query.where(rank < after if newest_first else rank > after)
        with self._sql.read() as reader:
            return [_load(kind, body) for body in reader.execute(query).scalars()]

    def active(self, kind: Kind[T]) -> Sequence[T]:
        query = select(entries.c.body).where(entries.c.active, entries.c.kind == kind.name).order_by(entries.c.rank)
        with self._sql.read() as reader:
            return [_load(kind, body) for body in reader.execute(query).scalars()]

    def change(self, kind: Kind[T], key: str, change: Callable[[T], T]) -> T | None:
        with self._sql.write() as writer:
            entry = self._read(writer, kind, key, lock=True)
            if entry is None:
                return None
            changed = change(entry)
            if changed != entry:
                writer.execute(update(entries).where(_one(kind, key)).values(_row(kind, changed)))
        return changed

    def delete(self, kind: Kind[T], key: str) -> bool:
        with self._sql.write() as writer:
            return writer.execute(delete(entries).where(_one(kind, key))).rowcount == 1

    def delete_scope(self, kind: Kind[T], scope: str) -> None:
        with self._sql.write() as writer:
            writer.execute(delete(entries).where(entries.c.kind == kind.name, entries.c.scope == scope))

    def _add(self, writer: Connection, kind: Kind[T], entry: T) -> bool:
        try:
            with writer.begin_nested():
                writer.execute(insert(entries).values(_row(kind, entry)))
        except IntegrityError:
            return False
        return True

    def _read(self, connection: Connection, kind: Kind[T], key: str, *, lock: bool = False) -> T | None:
        query = select(entries.c.body).where(_one(kind, key))
        body = connection.execute(query.with_for_update() if lock else query).scalar_one_or_none()
        return None if body is None else _load(kind, body)


def _one(kind: Kind[T], key: str) -> ColumnElement[bool]:
    return and_(entries.c.kind == kind.name, entries.c.key == key)


def _load(kind: Kind[T], body: str) -> T:
    return kind.load(orjson.loads(body))


def _row(kind: Kind[T], entry: T) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "key": entry.key,
        "scope": entry.scope,
        "rank": entry.rank,
        "active": entry.active,
        "body": orjson.dumps(entry).decode(),
    }
