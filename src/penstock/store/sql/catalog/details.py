"""Rows of details: functions of databases, indexes and statistics of tables, statistics of partitions.

Each goes with the row that it belongs to, by its foreign key.
"""

import base64
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Integer, String, Text, delete, insert, select, update
from sqlalchemy import Table as SqlTable

from penstock.catalog.details import Body, Change
from penstock.store.sql.database import metadata

__all__ = [
    "change_details",
    "database_details",
    "load_body",
    "partition_details",
    "read_details",
    "table_details",
]

_ID = BigInteger().with_variant(Integer, "sqlite")
_NAME = String(255)


def _details(owner: str, key: str, key_type: Any) -> SqlTable:
    name = f"{owner}_detail"
    reference = ForeignKey(f"{owner}.{key}", name=f"fk_{name}_owner_{owner}", ondelete="CASCADE")
    return SqlTable(
        name,
        metadata,
        Column("owner", key_type, reference, primary_key=True),
        Column("kind", String(16), primary_key=True),
        Column("name", _NAME, primary_key=True),
        Column("body", Text, nullable=False),
    )


database_details = _details("catalog_database", "name", _NAME)
table_details = _details("catalog_table", "id", _ID)
partition_details = _details("catalog_partition", "id", _ID)


def read_details(connection: Connection, rows: SqlTable, owner: object, kind: str) -> dict[str, Body]:
    """The details of one kind that belong to ``owner``, by name."""
    query = select(rows.c.name, rows.c.body).where(rows.c.owner == owner, rows.c.kind == kind).order_by(rows.c.name)
    return {row.name: load_body(row.body) for row in connection.execute(query)}


def change_details(connection: Connection, rows: SqlTable, owner: object, kind: str, change: Change) -> None:
    """Put what ``change`` makes of the details of ``owner`` in place of them."""
    before = read_details(connection, rows, owner, kind)
    after = change(before)
    of_owner = (rows.c.owner == owner, rows.c.kind == kind)
    for name in before.keys() - after.keys():
        connection.execute(delete(rows).where(*of_owner, rows.c.name == name))
    for name, body in after.items():
        if name not in before:
            connection.execute(insert(rows).values(owner=owner, kind=kind, name=name, body=_dump(body)))
        elif body != before[name]:
            connection.execute(update(rows).where(*of_owner, rows.c.name == name).values(body=_dump(body)))


def load_body(text: str) -> Body:
    """The members of a detail's row."""
    body: Body = _restored(orjson.loads(text))
    return body


def _dump(body: Body) -> str:
    return orjson.dumps(body, default=_plain, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()


def _plain(value: object) -> object:
    match value:
        case datetime():
            return {"$time": value.isoformat()}
        case bytes():
            return {"$bytes": base64.b64encode(value).decode()}
        case tuple():
            return list(value)
        case _:
            raise TypeError(type(value).__name__)


def _restored(value: Any) -> Any:
    match value:
        case {"$time": str(text)}:
            return datetime.fromisoformat(text)
        case {"$bytes": str(text)}:
            return base64.b64decode(text)
        case dict():
            return {name: _restored(item) for name, item in value.items()}
        case list():
            return [_restored(item) for item in value]
        case _:
            return value
