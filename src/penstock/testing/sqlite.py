"""SQLite databases for tests: the store's tables are made once in a process, and copied into each database."""

import contextlib
import functools
import sqlite3
from pathlib import Path

from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate

__all__ = ["new_database"]


def new_database(file: Path | None = None) -> Database:
    """Return a database with the store's tables and no rows: in ``file``, which does not exist yet, or in memory.

    One in memory is gone when nothing refers to it; one in a file is closed by the caller.
    """
    if file is not None:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            _template().backup(connection)
        return Database(f"sqlite:///{file}")
    database = Database("sqlite://")
    with contextlib.closing(database.engine.raw_connection()) as pooled:
        target = pooled.driver_connection
        assert isinstance(target, sqlite3.Connection)
        _template().backup(target)
    return database


@functools.cache
def _template() -> sqlite3.Connection:
    """The connection of a migrated database in memory."""
    database = Database("sqlite://")
    migrate(database)
    with contextlib.closing(database.engine.raw_connection()) as pooled:
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        return connection
