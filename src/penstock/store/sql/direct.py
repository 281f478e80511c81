"""Statements of hot paths on the driver's own cursor, compiled once.

Executing through SQLAlchemy costs ten times what SQLite takes for an indexed read, so the reads and writes that every
request makes go around it. They are still written in SQLAlchemy's terms, and still in the dialect of the database.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql import Select
from sqlalchemy.sql.dml import UpdateBase

from penstock.store.sql.database import Database

__all__ = ["Direct", "DirectTransaction", "Prepared", "Row"]

Row = Mapping[str, Any]


class Prepared:
    """One statement's text in the dialect of ``database``, and how its parameters and columns are laid out.

    Only for columns whose Python values are the driver's own: texts, integers and bytes.
    """

    __slots__ = ("_fixed", "_order", "names", "text")

    def __init__(self, database: Database, statement: Select[Any] | UpdateBase) -> None:
        compiled = statement.compile(dialect=database.engine.dialect)
        self.text = str(compiled)
        self.names = tuple(str(column.key) for column in statement.exported_columns)
        # Literals within the statement are parameters too; those that the caller names have None here.
        self._fixed = dict(compiled.params)
        self._order = getattr(compiled, "positiontup", None)

    def arguments(self, values: Row) -> Any:
        """``values`` as the driver wants them: in order, or by name."""
        named = {**self._fixed, **values}
        return named if self._order is None else [named[name] for name in self._order]

    def row(self, found: Sequence[Any] | None) -> Row | None:
        """A fetched tuple by column names."""
        return None if found is None else dict(zip(self.names, found, strict=True))


class DirectTransaction:
    """Statements of one write transaction."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def run(self, statement: Prepared, values: Row) -> Row | None:
        """Execute, and the first row where the statement gives rows."""
        self._cursor.execute(statement.text, statement.arguments(values))
        return statement.row(self._cursor.fetchone()) if statement.names else None


class Direct:
    """Reads of one statement each, and write transactions, on the connections of ``database``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.Conflict: type[Exception] = database.engine.dialect.loaded_dbapi.IntegrityError
        """The driver's error for a row that breaks a constraint."""

    def first(self, statement: Prepared, values: Row) -> Row | None:
        """The first row, or None; one statement is a snapshot of its own."""
        with self._session(reading=True) as (_, cursor):
            cursor.execute(statement.text, statement.arguments(values))
            return statement.row(cursor.fetchone())

    def all(self, statement: Prepared, values: Row) -> list[Row]:
        """Every row."""
        with self._session(reading=True) as (_, cursor):
            cursor.execute(statement.text, statement.arguments(values))
            return [dict(zip(statement.names, found, strict=True)) for found in cursor.fetchall()]

    @contextmanager
    def write(self) -> Iterator[DirectTransaction]:
        """A write transaction, committed at the end, rolled back on any error."""
        with self._database.writing(), self._session() as (connection, cursor):
            if self._database.is_sqlite:
                cursor.execute("BEGIN IMMEDIATE")
            try:
                yield DirectTransaction(cursor)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def _session(self, *, reading: bool = False) -> Iterator[tuple[PoolProxiedConnection, Any]]:
        # Given back to the pool, a connection is rolled back: nothing is left open where the driver began a transaction.
        with self._database.connection() as connection:
            driver: Any = connection.driver_connection
            # One statement needs no transaction around it, which would be two more trips to the database server.
            alone = reading and not self._database.is_sqlite
            if alone:
                driver.autocommit = True
            try:
                cursor: Any = connection.cursor()
                try:
                    with self._database.refusing_nul():
                        yield connection, cursor
                finally:
                    cursor.close()
            finally:
                if alone:
                    driver.autocommit = False
