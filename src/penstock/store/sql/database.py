"""The one engine that all SQL stores share: connections, transactions and the metadata their tables register in.

A write transaction on SQLite starts with BEGIN IMMEDIATE, so that two writers queue for the lock instead of failing at
commit (https://www.sqlite.org/lang_transaction.html), and readers go on undisturbed because the journal is WAL.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import StaticPool

__all__ = ["Database", "metadata"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_BUSY_MILLISECONDS = 30_000


class Database:
    """Transactions over one SQL database.

    ``url`` is an SQLAlchemy URL: ``sqlite:///path`` or ``sqlite://`` (in memory, for tests).
    """

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        in_memory = self.is_sqlite and self.url.database in {None, "", ":memory:"}
        options: dict[str, Any] = {}
        if self.is_sqlite:
            options["connect_args"] = {"check_same_thread": False, "timeout": _BUSY_MILLISECONDS / 1000}
        if in_memory:
            options["poolclass"] = StaticPool
        self.engine: Engine = create_engine(self.url, **options)
        # SQLite's waiting writers sleep and try again; within a process they queue here and are woken at once.
        self._writers: AbstractContextManager[Any] = RLock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection in a read transaction: one consistent snapshot."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection in a write transaction, committed at the end, rolled back on any error."""
        with (
            self._writers,
            self.engine.connect().execution_options(penstock_write=True) as connection,
            connection.begin(),
        ):
            yield connection

    def writing(self) -> AbstractContextManager[Any]:
        """The queue of this process's writers, for one that brings its own connection."""
        return self._writers

    def create_all(self) -> None:
        """Create every registered table, for tests; the server migrates with Alembic instead."""
        metadata.create_all(self.engine)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # sqlite3's own implicit BEGIN is switched off: _begin_sqlite says which kind of transaction starts.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("penstock_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
