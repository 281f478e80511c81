"""Brings a database's schema up to date, once, however many processes start at the same time."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from penstock.errors import EnvironmentProblem
from penstock.store.sql.database import Database

__all__ = ["HEAD", "migrate", "revision_of"]

HEAD = "0018"  # the newest revision in migrations/versions

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(database: Database) -> None:
    """Run the migrations that ``database`` lacks, in one write transaction.

    A second process waits for that transaction and then finds nothing to do. Raises :class:`EnvironmentProblem` if the
    database comes from a newer Penstock, or cannot be used.
    """
    if revision_of(database) == HEAD:
        return
    # Alembic takes longer to import than most servers take to start, and most starts migrate nothing.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with database.write() as connection:
        if not database.is_sqlite:
            # Any fixed number will do: it only has to be the same in every process.
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7306510)")
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise EnvironmentProblem(
                f"The database {database.name} cannot be migrated: {error}.",
                remedy="It was written by a newer Penstock: upgrade this one, or restore a backup.",
            ) from error
        if not database.is_sqlite:
            _order_by_bytes(connection)


def _order_by_bytes(connection: Connection) -> None:
    """Let PostgreSQL compare texts as SQLite and Python do, with any collation of the database."""
    columns = connection.exec_driver_sql(
        "SELECT c.table_name, c.column_name, c.character_maximum_length FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'"
        " AND c.data_type IN ('character varying', 'text') AND c.collation_name IS DISTINCT FROM 'C'"
    ).all()
    quote = connection.dialect.identifier_preparer.quote
    for table, column, length in columns:
        kind = "text" if length is None else f"varchar({length})"
        connection.exec_driver_sql(f'ALTER TABLE {quote(table)} ALTER COLUMN {quote(column)} TYPE {kind} COLLATE "C"')


def _reason(error: Exception) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    details = original.args[0] if original is not None and original.args else error
    # pg8000 gives the server's own message as the field M.
    return str(details.get("M", "")) if isinstance(details, dict) else str(details)


def revision_of(database: Database) -> str | None:
    """Return the revision of the tables, None if there are none; :class:`EnvironmentProblem` if it cannot be read."""
    try:
        with database.read() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    except (DBAPIError, OSError) as error:
        raise EnvironmentProblem(
            f"The store {database.name} cannot be used: {_reason(error).rstrip('.')}.", remedy=_remedy(database, error)
        ) from error
    return revision


def _remedy(database: Database, error: Exception) -> str:
    if not database.is_sqlite:
        return "Check that it runs, and the URL (--store-url or PENSTOCK_STORE_URL)."
    if isinstance(error, OperationalError):
        return "Check the owner and the permissions of the file and its folder, and its path (--home or --store-url)."
    return "The file is damaged: move it and those with -wal and -shm after its name away, and run 'penstock restore'."
