"""The migrated schema is the registered one, and migrating is safe to repeat and to do from two processes."""

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from penstock.errors import EnvironmentProblem
from penstock.store.sql import migrate as migrations
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import HEAD, migrate
from penstock.store.sql.tables import metadata


def test_migrations_make_the_registered_schema(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    migrate(database)
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}
    database.close()


def test_every_module_with_tables_is_registered() -> None:
    sources = Path(migrations.__file__).parent.glob("*.py")
    with_tables = {source.stem for source in sources if "metadata,\n" in source.read_text() and source.stem != "database"}
    registered = (Path(migrations.__file__).parent / "tables.py").read_text()
    assert with_tables
    assert all(f"import penstock.store.sql.{name}" in registered for name in with_tables)


def test_the_newest_revision_is_the_one_that_is_looked_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    migrate(database)
    with database.write() as connection:
        connection.execute(text("INSERT INTO registry_epoch VALUES (77, 0)"))
    migrate(database)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM registry_epoch WHERE id = 77")).scalar() == 1
    database.close()


def test_migrating_from_several_connections_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def run() -> None:
        database = Database(f"sqlite:///{tmp_path / 'a.db'}")
        try:
            start.wait()
            migrate(database)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    migrate(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(EnvironmentProblem, match="newer Penstock"):
        migrate(database)
    database.close()
