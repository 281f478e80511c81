"""Statements of hot paths on the driver's own cursor, compiled once.

Executing through SQLAlchemy costs ten times what SQLite takes for an indexed read, so the reads and writes that every
request makes go around it. They are still written in SQLAlchemy's terms, and still in the dialect of the database.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from sqlalchemy import Dialect, Table, bindparam, insert
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql import Select
from sqlalchemy.sql.dml import Insert, UpdateBase

from penstock.store.sql.database import Database

__all__ = ["Direct", "DirectTransaction", "Prepared", "Row", "insert_all", "once_per_dialect"]

Row = Mapping[str, Any]

T = TypeVar("T")


class Prepared:
    """One statement's text in a dialect, and the order of its parameters and columns.

    Only for columns whose Python values are the driver's own types: str, int and bytes.
    """

    __slots__ = ("_literals", "_order", "names", "text")

    def __init__(self, dialect: Dialect, statement: Select[Any] | UpdateBase) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self.names = tuple(str(column.key) for column in statement.exported_columns)
        # Literals in the statement are parameters too; those that the caller names are None here.
        self._literals = {name: value for name, value in compiled.params.items() if value is not None}
        self._order = getattr(compiled, "positiontup", None)

    def arguments(self, values: Row) -> Any:
        """Return ``values`` as the driver expects them: in order, or by name."""
        by_name = {**self._literals, **values} if self._literals else values
        return by_name if self._order is None else [by_name[name] for name in self._order]

    def row(self, values: Sequence[Any] | None) -> Row | None:
        """Return a fetched tuple as a mapping by column name."""
        return None if values is None else dict(zip(self.names, values, strict=True))


def once_per_dialect(make: Callable[[Dialect], T]) -> Callable[[Database], T]:
    """Return a function that calls ``make`` once for each dialect: databases of one dialect share what is compiled."""
    shared: dict[str, T] = {}

    def of(database: Database) -> T:
        dialect = database.engine.dialect
        if dialect.name not in shared:
            shared[dialect.name] = make(dialect)
        return shared[dialect.name]

    return of


def insert_all(table: Table, *, but: str = "") -> Insert:
    """An INSERT of every column, by its name, but for one that the database fills in."""
    return insert(table).values({name: bindparam(name) for name in table.columns.keys() if name != but})  # noqa: SIM118


class DirectTransaction:
    """Statements of one write transaction."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def run(self, statement: Prepared, values: Row) -> Row | None:
        """Execute; return the first row if the statement returns rows."""
        self._cursor.execute(statement.text, statement.arguments(values))
        return statement.row(self._cursor.fetchone()) if statement.names else None

    def run_all(self, statement: Prepared, rows: Sequence[Row]) -> None:
        """Execute once for each of ``rows``; for statements that return no rows."""
        self._cursor.executemany(statement.text, [statement.arguments(values) for values in rows])


class Direct:
    """Reads of one statement each, and write transactions, on the connections of ``database``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.Conflict: type[Exception] = database.engine.dialect.loaded_dbapi.IntegrityError
        """The driver's error for a row that breaks a constraint."""

    def first(self, statement: Prepared, values: Row) -> Row | None:
        """Return the first row, or None; each statement is a snapshot of its own."""
        with self._database.shared_connection, _Session(self._database, reading=True) as session:
            session.cursor.execute(statement.text, statement.arguments(values))
            return statement.row(session.cursor.fetchone())

    def all(self, statement: Prepared, values: Row) -> list[Row]:
        """Return every row."""
        with self._database.shared_connection, _Session(self._database, reading=True) as session:
            session.cursor.execute(statement.text, statement.arguments(values))
            return [dict(zip(statement.names, values, strict=True)) for values in session.cursor.fetchall()]

    @contextmanager
    def write(self) -> Iterator[DirectTransaction]:
        """A write transaction, committed at the end, rolled back on any error."""
        with self._database.writing(), _Session(self._database) as session:
            if self._database.is_sqlite:
                session.cursor.execute("BEGIN IMMEDIATE")
            try:
                yield DirectTransaction(session.cursor)
            except BaseException:
                session.connection.rollback()
                raise
            session.connection.commit()


class _Session:
    """A cursor on the connection that this thread has pinned, or on one of the pool inside the block.

    Not a generator, because it surrounds every statement.
    """

    __slots__ = ("_alone", "_database", "_own", "connection", "cursor")

    connection: PoolProxiedConnection
    cursor: Any

    def __init__(self, database: Database, *, reading: bool = False) -> None:
        self._database = database
        # One statement needs no transaction, which would cost two more round trips to the database server.
        self._alone = reading and not database.is_sqlite

    def __enter__(self) -> Self:
        pinned = self._database.pinned
        self._own = pinned is None
        self.connection = self._database.engine.raw_connection() if pinned is None else pinned
        try:
            self._set_alone(alone=True)
            self.cursor = self.connection.cursor()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.cursor.close()
        finally:
            self._leave()
        if error is not None:
            self._database.explain(error)

    def _leave(self) -> None:
        try:
            self._set_alone(alone=False)
        finally:
            # The pool rolls it back, in case the driver began a transaction.
            if self._own:
                self.connection.close()

    def _set_alone(self, *, alone: bool) -> None:
        if self._alone:
            driver: Any = self.connection.driver_connection
            driver.autocommit = alone
