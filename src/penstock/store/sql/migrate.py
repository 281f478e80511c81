"""Brings a database's schema up to date, once, however many processes start at the same time."""

from pathlib import Path

from sqlalchemy import inspect, text

from penstock.errors import EnvironmentProblem
from penstock.store.sql.database import Database

__all__ = ["HEAD", "migrate"]

HEAD = "0002"  # the newest revision in migrations/versions

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(database: Database) -> None:
    """Run the migrations that ``database`` lacks, in one write transaction: all or none of them.

    A second process waits for that transaction and then finds nothing to do. Raises :class:`EnvironmentProblem` where the
    database comes from a newer Penstock.
    """
    if _revision(database) == HEAD:
        return
    # Alembic takes longer to import than most servers take to start, and most starts migrate nothing.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with database.write() as connection:
        if not database.is_sqlite:
            # Any fixed number serves: it only has to be the same in every process.
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7306510)")
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise EnvironmentProblem(
                f"The database {database.name} cannot be migrated: {error}.",
                remedy="It was written by a newer Penstock: upgrade this one, or restore a backup.",
            ) from error


def _revision(database: Database) -> str | None:
    with database.read() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return revision
