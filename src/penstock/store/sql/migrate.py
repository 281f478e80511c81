"""Brings a database's schema up to date, once, however many processes start at the same time."""

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, delete, insert, inspect, select
from sqlalchemy.exc import DBAPIError, OperationalError

from penstock.errors import EnvironmentProblem
from penstock.store.sql.database import Database
from penstock.store.sql.tables import metadata

__all__ = ["BASE", "HEAD", "READABLE_FROM", "migrate", "revision_of"]

BASE = "0018"  # the schema of the first release, from which later versions upgrade
HEAD = "0018"  # the newest revision in migrations/versions
READABLE_FROM = "0018"
"""The oldest revision whose servers can work on tables of :data:`HEAD`: those between add, and change nothing (ADR 45)."""

MIGRATIONS = Path(__file__).parent / "migrations"

# Alembic's own table, apart from the store's: backups do not copy it.
_revisions = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
# READABLE_FROM as the newest server wrote it; there is no such table while it is the revision itself.
_readable_from = Table("readable_from", MetaData(), Column("version_num", String(32), nullable=False))


def migrate(database: Database) -> None:
    """Give ``database`` the tables of this version, in one write transaction.

    One without tables gets them from the tables' definitions
    (https://alembic.sqlalchemy.org/en/latest/cookbook.html#building-uptodate), one with those of an earlier release by
    the migrations in between. A second process waits for that transaction and then finds nothing to do. Tables of a newer
    Penstock beside which this one can work are left as they are. Raises :class:`EnvironmentProblem` if the database comes
    from any other newer Penstock, or from one before the first release, or cannot be used.
    """
    if _is_served(database, revision_of(database)):
        return
    with database.write() as connection:
        revision = _revision(connection)
        if revision is None:
            metadata.create_all(connection, checkfirst=False)
            _revisions.create(connection)
            connection.execute(insert(_revisions).values(version_num=HEAD))
        elif revision < HEAD:
            _upgrade(database, connection, revision)
        if READABLE_FROM != HEAD:
            _readable_from.create(connection, checkfirst=True)
            connection.execute(delete(_readable_from))
            connection.execute(insert(_readable_from).values(version_num=READABLE_FROM))
        if not database.is_sqlite:
            _order_by_bytes(connection)


def _is_served(database: Database, revision: str | None) -> bool:
    """Return whether tables of ``revision`` need no change; raise :class:`EnvironmentProblem` if they are too new."""
    if revision is None or revision <= HEAD:
        return revision == HEAD
    with database.read() as connection:
        there = inspect(connection).has_table(_readable_from.name)
        oldest = connection.execute(select(_readable_from.c.version_num)).scalar_one() if there else revision
    if oldest > HEAD:
        raise EnvironmentProblem(
            f"The store {database.name} was written by a newer Penstock: its revision is {revision}, which servers from "
            f"{oldest} on can use, and this one's is {HEAD}.",
            remedy="Upgrade this Penstock, or restore a backup from before the upgrade.",
        )
    return True


def _upgrade(database: Database, connection: Connection, revision: str) -> None:
    if revision < BASE:
        raise EnvironmentProblem(
            f"The database {database.name} cannot be migrated: its revision {revision} is older than {BASE}, that of "
            "Penstock's first release.",
            remedy="Start the last version before this one on it once, which migrates it, and then this one.",
        )
    # Alembic takes longer to import than most servers take to start, and most starts migrate nothing.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


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
        text_type = "text" if length is None else f"varchar({length})"
        connection.exec_driver_sql(f'ALTER TABLE {quote(table)} ALTER COLUMN {quote(column)} TYPE {text_type} COLLATE "C"')


def revision_of(database: Database) -> str | None:
    """Return the revision of the tables, None if there are none; :class:`EnvironmentProblem` if it cannot be read."""
    try:
        with database.read() as connection:
            return _revision(connection)
    except (DBAPIError, OSError) as error:
        raise EnvironmentProblem(
            f"The store {database.name} cannot be used: {_reason(error).rstrip('.')}.", remedy=_remedy(database, error)
        ) from error


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_revisions.name):
        return None
    return connection.execute(select(_revisions.c.version_num)).scalar_one_or_none()


def _reason(error: Exception) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    details = original.args[0] if original is not None and original.args else error
    # pg8000 gives the server's own message as the field M.
    return str(details.get("M", "")) if isinstance(details, dict) else str(details)


def _remedy(database: Database, error: Exception) -> str:
    if not database.is_sqlite:
        return "Check that it runs, and the URL (--store-url or PENSTOCK_STORE_URL)."
    if isinstance(error, OperationalError):
        return "Check the owner and the permissions of the file and its folder, and its path (--home or --store-url)."
    return "The file is damaged: move it and those with -wal and -shm after its name away, and run 'penstock restore'."
