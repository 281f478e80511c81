"""Connections in SQL: a row each, all but the name sealed with the master key."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Column, LargeBinary, String, delete, insert, select, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import IntegrityError

from penstock.catalog.connections import Connection, ConnectionExists, ConnectionNotFound
from penstock.store.sql.database import Database, metadata
from penstock.store.sql.sealing import Sealer, sealed_column

__all__ = ["SqlConnectionStore", "connections"]

connections = SqlTable(
    "catalog_connection",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("body_sealed", LargeBinary, nullable=False),
)


def _context(name: str) -> str:
    return f"connection {name}"


sealed_column(connections, "body_sealed", lambda row: _context(row.name))


class SqlConnectionStore:
    """A :class:`~penstock.catalog.connections.ConnectionStore` over SQL."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._sql = database
        self._sealer = sealer

    def create(self, connection: Connection) -> None:
        with self._sql.write() as writer:
            try:
                writer.execute(insert(connections).values(self._row(connection)))
            except IntegrityError:
                raise ConnectionExists(connection.name) from None

    def get(self, name: str) -> Connection | None:
        with self._sql.read() as reader:
            row = reader.execute(select(connections).where(connections.c.name == name)).one_or_none()
        return None if row is None else self._load(row)

    def list(self, *, after: str | None, limit: int) -> Sequence[Connection]:
        query = select(connections).order_by(connections.c.name).limit(limit)
        if after is not None:
            query = query.where(connections.c.name > after)
        with self._sql.read() as reader:
            return [self._load(row) for row in reader.execute(query)]

    def change(self, name: str, change: Callable[[Connection], Connection]) -> None:
        where = connections.c.name == name
        with self._sql.write() as writer:
            row = writer.execute(select(connections).where(where).with_for_update()).one_or_none()
            if row is None:
                raise ConnectionNotFound(name)
            writer.execute(update(connections).where(where).values(self._row(change(self._load(row)))))

    def delete(self, name: str) -> None:
        with self._sql.write() as writer:
            if not writer.execute(delete(connections).where(connections.c.name == name)).rowcount:
                raise ConnectionNotFound(name)

    def _row(self, connection: Connection) -> dict[str, Any]:
        return {
            "name": connection.name,
            "body_sealed": self._sealer.seal(orjson.dumps(connection), _context(connection.name)),
        }

    def _load(self, row: Any) -> Connection:
        members: dict[str, Any] = orjson.loads(self._sealer.open(row.body_sealed, _context(row.name)))
        times = {name: datetime.fromisoformat(members[name]) for name in ("created", "updated")}
        return Connection(**{**members, **times, "match_criteria": tuple(members["match_criteria"])})
