"""Databases of earlier revisions: their tables as the SQL of that time, with rows in each of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Integer,
    LargeBinary,
    String,
    Table,
    delete,
    insert,
    select,
    text,
)
from sqlalchemy.types import TypeEngine

from penstock.store.sql.tables import metadata

SCHEMAS = Path(__file__).parent / "schemas"
ROWS = 2

Rows = Mapping[str, Sequence[tuple[Any, ...]]]


def statements(revision: str, backend: str) -> Sequence[str]:
    """The statements that make the tables of ``revision`` in ``backend``, sqlite or postgresql."""
    lines = (SCHEMAS / f"{revision}.{backend}.sql").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).rstrip(";\n").split(";\n")


def make(connection: Connection, revision: str) -> Rows:
    """Make the tables of ``revision`` with rows in each, and return the rows."""
    for statement in statements(revision, connection.dialect.name):
        connection.exec_driver_sql(statement.replace("%", "%%"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    for table in metadata.sorted_tables:
        connection.execute(delete(table))
        connection.execute(insert(table), [_row(table, number) for number in range(ROWS)])
    return rows(connection)


def rows(connection: Connection) -> Rows:
    """All rows of all tables."""
    return {table.name: sorted(map(tuple, connection.execute(select(table))), key=repr) for table in metadata.sorted_tables}


def _row(table: Table, number: int) -> dict[str, Any]:
    # The last row has nothing in columns that may be null.
    return {
        column.name: None if column.nullable and number == ROWS - 1 else _value(column, number) for column in table.columns
    }


def _value(column: Column[Any], number: int) -> Any:
    for key in column.foreign_keys:
        return _value(key.column, number)
    if isinstance(column.type, String):
        return f"{number} é {column.table.name} {column.name}"[: column.type.length or 99]
    return next(value for types, value in _values(number).items() if isinstance(column.type, types))


def _values(number: int) -> Mapping[type[TypeEngine[Any]], Any]:
    return {
        Boolean: number % 2 == 0,
        JSON: {"a": number},
        DateTime: datetime(2026, 11, 23, number),
        LargeBinary: bytes([0, 255, number]),
        Integer: number + 1,
    }
