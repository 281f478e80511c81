"""Back up a whole store into one file while it serves, and restore it: one format for every backend.

The file is an SQLite database with the tables of the store's revision, whatever the store is, so that a backup of one kind
restores into the other. Secrets and access keys in it are sealed with the master key, which is not in it.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Integer, delete, func, insert, select, update

from penstock.durable import make_folder, sync
from penstock.errors import AlreadyExists, DataProblem, EnvironmentProblem, InvalidInput
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import BASE, HEAD, migrate, revision_of
from penstock.store.sql.registry.tables import registry_epoch, schema_id_counter
from penstock.store.sql.tables import metadata

__all__ = ["back_up", "restore"]

_BATCH = 5_000  # rows


def back_up(database: Database, file: Path) -> Mapping[str, int]:
    """Copy a snapshot of the store into ``file`` and return the number of rows by table.

    The file appears complete, readable only by its owner. Raises :class:`AlreadyExists` if the file exists,
    :class:`EnvironmentProblem` if it cannot be written or the store is not of this version.
    """
    if file.exists():
        raise AlreadyExists(f"{file} exists.", remedy="Choose another name, or remove it.")
    _check_revision(database)
    with _scratch(file.absolute().parent) as scratch:
        if database.is_sqlite:
            _copy_file(database, scratch)
            _settle(scratch)
        else:
            _copy_rows(database, scratch)
        rows = _check(scratch)
        try:
            # A link, unlike a rename, does not replace a file that was made meanwhile.
            os.link(scratch, file)
            sync(file.absolute().parent)
        except FileExistsError:
            raise AlreadyExists(f"{file} exists.", remedy="Choose another name, or remove it.") from None
    return rows


def restore(file: Path, database: Database, *, replace: bool = False, ids_above: int = 0) -> Mapping[str, int]:
    """Replace the contents of ``database`` by those of ``file`` in one transaction; return the number of rows by table.

    Servers on the store keep running and see the change at once. Schema ids assigned from now on are higher than any that
    the backup or the previous store assigned, and than ``ids_above``, which is for a store that was lost. Raises
    :class:`InvalidInput` if the store is not empty and ``replace`` is not set, :class:`DataProblem` for a file that is not a
    complete backup.
    """
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.")
    migrate(database)
    with _scratch(Path(tempfile.gettempdir())) as scratch:
        try:
            with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source:
                if not source.execute("SELECT name FROM sqlite_master WHERE name = 'alembic_version'").fetchall():
                    raise DataProblem(
                        f"{file} is not a backup of a store.", remedy="Give a file that 'penstock backup' made."
                    )
                with contextlib.closing(sqlite3.connect(scratch)) as target:
                    source.backup(target)
        except sqlite3.Error as error:
            raise DataProblem(
                f"{file} cannot be read as a backup: {error}.", remedy="Give a file that 'penstock backup' made."
            ) from error
        # A backup of an older version is brought up to date first.
        copy = Database(f"sqlite:///{scratch}")
        try:
            _check_age(file, copy)
            migrate(copy)
        finally:
            copy.close()
        _check(scratch)
        copy = Database(f"sqlite:///{scratch}")
        try:
            with copy.read() as source_rows, database.write() as target_rows:
                return _replace_all(source_rows, target_rows, database, replace=replace, ids_above=ids_above)
        finally:
            copy.close()


def _check_revision(database: Database) -> None:
    revision = revision_of(database)
    if revision != HEAD:
        state = "has no tables" if revision is None else f"is of revision {revision}, not {HEAD}"
        raise EnvironmentProblem(
            f"The store {database.name} {state}.", remedy="Start 'penstock serve' on it once, with this version."
        )


def _check_age(file: Path, copy: Database) -> None:
    revision = revision_of(copy)
    if revision is not None and revision < BASE:
        raise DataProblem(
            f"The backup {file} is of revision {revision}, older than {BASE}, that of Penstock's first release.",
            remedy="Restore it with the last version before this one into an empty store, and start this one on that store.",
        )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield a temporary file, which is deleted at the end together with the files that SQLite puts beside it."""
    try:
        make_folder(folder)
        descriptor, name = tempfile.mkstemp(prefix=".penstock-backup-", dir=folder)
    except OSError as error:
        raise EnvironmentProblem(
            f"No file can be written in {folder}: {error.strerror}.", remedy="Choose another folder."
        ) from error
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(name + suffix).unlink(missing_ok=True)


def _copy_file(database: Database, target: Path) -> None:
    # In one step: a copy in several steps starts again whenever another process writes in between.
    connection = database.engine.raw_connection()
    try:
        source = connection.driver_connection
        if not isinstance(source, sqlite3.Connection):
            raise EnvironmentProblem(f"The store {database.name} is not open as SQLite.")
        with contextlib.closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    finally:
        connection.close()


def _copy_rows(database: Database, target: Path) -> None:
    copy = Database(f"sqlite:///{target}")
    try:
        migrate(copy)
        with database.read() as source, copy.write() as into:
            for table in metadata.sorted_tables:
                into.execute(delete(table))
            for table in metadata.sorted_tables:
                _copy_table(source, into, table.name)
    finally:
        copy.close()
    _settle(target)


def _settle(file: Path) -> None:
    """Leave one file without a WAL beside it, synced to the disk."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    sync(file)


def _copy_table(source: Connection, into: Connection, name: str) -> int:
    table, count = metadata.tables[name], 0
    result = source.execution_options(yield_per=_BATCH).execute(select(table))
    for batch in result.mappings().partitions():
        into.execute(insert(table), [dict(row) for row in batch])
        count += len(batch)
    return count


def _check(file: Path) -> Mapping[str, int]:
    """Return the rows by table of a backup; :class:`DataProblem` if it is damaged."""
    try:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            damage = connection.execute("PRAGMA quick_check(1)").fetchall()
            if damage != [("ok",)]:
                raise DataProblem(f"The backup is damaged: {damage[0][0]}.", remedy="Take another one.")
            return {
                name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 -- our own names
                for name in sorted(metadata.tables)
            }
    except sqlite3.Error as error:
        raise DataProblem(f"The backup is damaged: {error}.", remedy="Take another one.") from error


def _replace_all(
    source: Connection, target: Connection, database: Database, *, replace: bool, ids_above: int
) -> Mapping[str, int]:
    tables = metadata.sorted_tables
    if not replace:
        filled = [name for name in ("schemas", "catalog_database", "secrets") if _holds(target, name)]
        if filled:
            raise InvalidInput(
                f"The store {database.name} holds something already: {', '.join(filled)}.",
                remedy="Restore into an empty store, or say --replace: all that the store holds is then gone.",
            )
    deletions = target.execute(select(func.max(registry_epoch.c.number))).scalar() or 0
    highest_id = target.execute(select(func.max(schema_id_counter.c.number))).scalar() or 0
    for table in reversed(tables):
        target.execute(delete(table))
    rows = {table.name: _copy_table(source, target, table.name) for table in tables}
    if not database.is_sqlite:
        _move_sequences(target)
    # Higher than before and than in the backup, so that servers drop what they have in memory.
    moved = registry_epoch.c.number + deletions + 1
    target.execute(update(registry_epoch).where(registry_epoch.c.id == 1).values(number=moved))
    # Records in topics carry the ids that were assigned since the backup: they are not assigned again.
    highest = max(highest_id, ids_above)
    target.execute(update(schema_id_counter).where(schema_id_counter.c.number < highest).values(number=highest))
    write_audit(target, "Restore", "store", f"{sum(rows.values())} rows")
    return rows


def _holds(connection: Connection, name: str) -> bool:
    return connection.execute(select(func.count()).select_from(metadata.tables[name])).scalar_one() > 0


def _move_sequences(connection: Connection) -> None:
    """Let PostgreSQL number new rows after those that were copied."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        sequence = func.pg_get_serial_sequence(table.name, column.name)
        # Null if the column has no sequence or the table no rows; then nothing is set.
        connection.execute(select(func.setval(sequence, func.max(column))))
