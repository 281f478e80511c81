"""SQLite databases for tests: the store's tables are made once in a process, and copied into each database."""

import contextlib
import functools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate

__all__ = ["new_database"]

_COMPILED: dict[Any, Any] = {}


def new_database(file: Path | None = None) -> Database:
    """Return a database with the store's tables and no rows: in ``file``, which does not exist yet, or in memory.

    One in memory is gone when nothing refers to it; one in a file is closed by the caller.
    """
    template = _template()
    if file is None:
        database = Database("sqlite://")
        with _connection(template) as source, _connection(database) as target:
            source.backup(target)
    else:
        with _connection(template) as source, contextlib.closing(sqlite3.connect(file)) as target:
            target.execute("PRAGMA synchronous=OFF")
            source.backup(target)
        database = Database(f"sqlite:///{file}")
    # All of them share what SQLAlchemy has compiled, because to compile a statement takes longer than to run it.
    database.engine.dialect = template.engine.dialect
    database.engine.update_execution_options(compiled_cache=_COMPILED)
    return database


@functools.cache
def _template() -> Database:
    """A migrated database in memory."""
    database = Database("sqlite://")
    migrate(database)
    return database


@contextlib.contextmanager
def _connection(database: Database) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(database.engine.raw_connection()) as pooled:
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        yield connection
