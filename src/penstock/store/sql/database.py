"""The engine that all SQL stores share: connections, transactions and the metadata of their tables.

A write transaction on SQLite starts with BEGIN IMMEDIATE, so that two writers queue for the lock instead of failing at
commit (https://www.sqlite.org/lang_transaction.html), and readers are not blocked because the journal is WAL. On
PostgreSQL the writers of :meth:`Database.write` queue for an advisory lock, and see what earlier writers committed;
those with a connection of their own rely on row locks, and are retried after a deadlock.
"""

import functools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock, local
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import orjson
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Engine,
    MetaData,
    Text,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import PoolProxiedConnection, StaticPool

from penstock.errors import InvalidInput, StorageFull
from penstock.retries import TRANSACTION, WAL_MODE, call_with_retries

__all__ = ["Database", "among", "metadata", "retried"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_BUSY_MILLISECONDS = 30_000
_POOL = {"pool_size": 5, "max_overflow": 15}
# Any fixed number will do: it only has to be the same in every process.
_WRITERS_LOCK = 7306511
# Serialization failure, deadlock, and a missing row that another one refers to: the transaction can be retried.
_AGAIN = frozenset({"40001", "40P01", "23503"})
_NO_TEXT = frozenset({"22021", "22P05"})  # in a text, and in one of JSON
_DISK_STATES = {"53100": "the database server's disk is full", "58030": "the database server's disk takes no writes"}
_WRITE_ERRORS = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_READONLY,
    }
)

P = ParamSpec("P")
R = TypeVar("R")


class Database:
    """Transactions over one SQL database.

    ``url`` is an SQLAlchemy URL: ``sqlite:///path``, ``sqlite://`` (in memory, for tests and trials: one connection, whose
    transactions queue, and whose rows go with this object), or ``postgresql+pg8000://user:password@host:port/database``.
    Raises :class:`~penstock.errors.InvalidInput` for any other.
    ``schema`` is the only one that PostgreSQL's connections see; None leaves that to the server.
    """

    def __init__(self, url: str, *, schema: str | None = None) -> None:
        self.url = _parse(url)
        self.name = self.url.render_as_string(hide_password=True)
        """The URL without its password."""
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.in_memory = self.is_sqlite and self.url.database in {None, "", ":memory:"}
        options: dict[str, Any] = {}
        if self.is_sqlite:
            options["connect_args"] = {"check_same_thread": False, "timeout": _BUSY_MILLISECONDS / 1000}
        else:
            options |= {**_POOL, "pool_pre_ping": True, "connect_args": {"application_name": "penstock"}}
            if schema is not None:
                # One of many databases: it keeps only as many connections as it mostly uses.
                options |= {"pool_size": 1, "max_overflow": 9}
                options["connect_args"]["startup_params"] = {"search_path": schema}
        if self.in_memory:
            options["poolclass"] = StaticPool
            options["connect_args"]["factory"] = _MemoryConnection
        elif self.is_sqlite:
            # The connection that wrote last: each caches pages, and drops them all once another one has written.
            options["pool_use_lifo"] = True
            # As many as threads ask for: one with a pinned connection may want another, and files have no limit.
            options["max_overflow"] = -1
        self.engine: Engine = create_engine(self.url, **options)
        self.unwritable: str | None = None
        """Why the last write failed because the disk is full; the readiness check resets it when a write succeeds."""
        self._pin = local()
        # SQLite's waiting writers poll; within a process they queue here and are woken at once.
        self._writers: AbstractContextManager[Any] = RLock() if self.is_sqlite else nullcontext()
        self.shared_connection: AbstractContextManager[Any] = self._writers if self.in_memory else nullcontext()
        """Held during each transaction where all threads share one connection, which has one transaction at a time."""
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "connect", _prepare_postgresql)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection in a read transaction: one consistent snapshot."""
        with self._explaining(), self.shared_connection, self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    @contextmanager
    def write(self, *, synced: bool = True) -> Iterator[Connection]:
        """Yield a connection in a write transaction, committed at the end, rolled back on any error.

        Unless ``synced``, a power loss can undo it, with no later one: for what no answer depends on.
        """
        with (
            self._explaining(),
            self._writers,
            self.engine.connect().execution_options(penstock_write=True) as connection,
            nullcontext() if synced else _unsynced(connection, self.is_sqlite),
            connection.begin(),
        ):
            if not self.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK})")
                if not synced:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            yield connection

    @property
    def pinned(self) -> PoolProxiedConnection | None:
        """The driver's connection that this thread has pinned (:meth:`pin_connection`), if any."""
        return getattr(self._pin, "connection", None)

    @contextmanager
    def pin_connection(self) -> Iterator[None]:
        """Pin one connection of the pool as :attr:`pinned` inside the block: checking it out costs more than a short read.

        Each statement is still a transaction of its own. Only on files of SQLite: PostgreSQL's connections are few, and
        threads that each hold one while they wait for a second one would deadlock.
        """
        if not self.is_sqlite or self.in_memory or self.pinned is not None:
            yield
            return
        connection = self._pin.connection = self.engine.raw_connection()
        try:
            yield
        finally:
            self._pin.connection = None
            connection.close()

    def writing(self) -> AbstractContextManager[Any]:
        """The queue of this process's writers, for a writer with its own connection."""
        return self._writers

    def is_retryable(self, error: Exception) -> bool:
        """Return whether the transaction that failed with ``error`` can be retried unchanged."""
        return not self.is_sqlite and _state(error) in _AGAIN

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Apply :meth:`explain` to errors raised inside the block."""
        try:
            yield
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: BaseException) -> None:
        """Raise an error that the caller can act on for some of the driver's errors; return for the others.

        :class:`~penstock.errors.StorageFull` if the disk is full, :class:`~penstock.errors.InvalidInput` if
        PostgreSQL was given a text with NUL, which it cannot store.
        """
        if not isinstance(error, Exception):
            return
        why = _unwritable(error)
        if why is not None:
            self.unwritable = why
            raise StorageFull(
                f"The store cannot be written: {why}. Nothing was changed.", remedy="Free some space on its disk."
            ) from error
        if not self.is_sqlite and _state(error) in _NO_TEXT:
            raise InvalidInput(
                "A text in the request has the character NUL (U+0000), which the store cannot keep.",
                remedy="Leave it out.",
            ) from error

    def risks(self) -> list[str]:
        """Return warnings about settings of the database server with which a power loss loses commits."""
        if self.is_sqlite:
            return []
        with self.read() as connection:
            settings = {
                name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in ("fsync", "full_page_writes")
            }
        return [f"{name} is off" for name, value in settings.items() if value == "off"]

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _state(error: Exception) -> str | None:
    """PostgreSQL's SQLSTATE, which pg8000 has as the field C."""
    original = error.orig if isinstance(error, DBAPIError) else error
    details = original.args[0] if original is not None and original.args else None
    return details.get("C") if isinstance(details, dict) else None


def _unwritable(error: Exception) -> str | None:
    """Return why the disk refused a write, if that is the cause of ``error``."""
    state = _state(error)
    if state in _DISK_STATES:
        return _DISK_STATES[state]
    original = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(original, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL:
        return "its disk is full"
    # What a full disk, or a limit on file sizes, leads to for files that SQLite maps or extends.
    return f"its disk takes no writes ({original})" if code in _WRITE_ERRORS else None


class _Stored(Protocol):
    @property
    def _database(self) -> Database: ...


S = TypeVar("S", bound=_Stored)


def retried(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate a store's method that is one transaction: retry it if the database aborted it for another one."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return call_with_retries(lambda: method(self, *args, **kwargs), TRANSACTION, when=self._database.is_retryable)

    return run


def among(connection: Connection, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
    """Return the condition that ``column``, a text or a number, is one of ``values``: on PostgreSQL one parameter, as JSON.

    Its driver takes as long for the text of five hundred parameters, or for an array of them, as the server for their rows.
    """
    if connection.dialect.name == "sqlite":
        return column.in_(values)
    rows = func.json_array_elements_text(cast(bindparam(None, orjson.dumps(values).decode(), type_=Text), JSON))
    items = select(rows.column_valued("item")).subquery()
    return column.in_(select(cast(items.c.item, column.type)))


def _parse(url: str) -> Any:
    remedy = "Write sqlite:///PATH or postgresql+pg8000://USER:PASSWORD@HOST:PORT/DATABASE."
    try:
        parsed = make_url(url)
        is_supported = parsed.drivername in {"sqlite", "sqlite+pysqlite", "postgresql+pg8000"}
    except (ArgumentError, ValueError):
        raise InvalidInput("The store's URL cannot be read.", remedy=remedy) from None
    if not is_supported:
        raise InvalidInput(f"Stores of kind '{parsed.drivername[:60]}' are not known.", remedy=remedy)
    return parsed


class _MemoryConnection(sqlite3.Connection):
    """Closes itself when nothing refers to it any more, and its database is gone with it."""

    def __del__(self) -> None:
        self.close()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # sqlite3's own implicit BEGIN is off: _begin_sqlite chooses the kind of transaction.
    connection.isolation_level = None
    cursor = connection.cursor()
    _keep_wal(cursor)
    # A commit returns once it is on the disk. With NORMAL a power loss loses the last commits
    # (https://www.sqlite.org/pragma.html#pragma_synchronous). The next two are macOS's alone, whose
    # fsync leaves the drive's cache alone.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA fullfsync=ON")
    cursor.execute("PRAGMA checkpoint_fullfsync=ON")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
    cursor.close()


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    # A commit that is acknowledged is on the disk, whatever the default of the server, the database or the role. Settings
    # that also wait for standbys (remote_apply, on) stay, and so does local.
    cursor = connection.cursor()
    cursor.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    cursor.close()
    connection.commit()


def _keep_wal(cursor: Any) -> None:
    # If another connection writes to a file that is not in this mode yet, SQLite refuses at once instead of waiting.
    call_with_retries(lambda: cursor.execute("PRAGMA journal_mode=WAL"), WAL_MODE, when=_is_busy)


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


@contextmanager
def _unsynced(connection: Connection, is_sqlite: bool) -> Iterator[None]:
    """Let SQLite's commits inside the block be synced by the next checkpoint or synced commit."""
    if not is_sqlite:
        yield
        return
    # On the driver's connection, because SQLAlchemy's would begin a transaction, in which the setting cannot change.
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA synchronous=NORMAL")
    try:
        yield
    finally:
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("penstock_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
