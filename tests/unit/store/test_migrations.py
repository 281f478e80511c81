"""The migrated schema is the registered one, and migrating is safe to repeat and to do from two processes."""

import contextlib
import sqlite3
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
from penstock.store.sql.migrate import HEAD, READABLE_FROM, migrate, revision_of
from penstock.store.sql.tables import metadata
from penstock.testing.sqlite import new_database
from tests.unit.store import earlier_schemas


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
    with_tables = {
        source.stem for source in sources if "    metadata,\n" in source.read_text() and source.stem != "database"
    }
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


def test_a_new_file_that_another_one_writes_to_is_waited_for(tmp_path: Path) -> None:
    # SQLite itself does not wait here, whatever its busy_timeout: it fails at once.
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE t (x)")
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    with contextlib.closing(Database(f"sqlite:///{tmp_path / 'a.db'}")) as database:
        migrate(database)
        assert revision_of(database) == HEAD
    release.join()
    other.close()


def schema_of(database: Database) -> set[tuple[str, str, str]]:
    """Type, name and definition of all that the database has, without white space."""
    query = "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex%'"
    with database.read() as connection:
        return {(row[0], row[1], "".join(row[2].split())) for row in connection.exec_driver_sql(query)}


def test_a_database_of_the_last_revision_before_this_one_is_taken_over(tmp_path: Path) -> None:
    with contextlib.closing(Database(f"sqlite:///{tmp_path / 'a.db'}")) as database:
        with database.write() as connection:
            before = earlier_schemas.make(connection, "0018")
        migrate(database)
        with database.read() as connection:
            assert earlier_schemas.rows(connection) == before
            assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []
        assert all(len(rows) == earlier_schemas.ROWS for rows in before.values())
        assert revision_of(database) == HEAD
        assert schema_of(database) == schema_of(new_database())


@pytest.mark.parametrize("revision", ["0001", "0017"])
def test_a_database_from_before_the_first_release_is_refused_untouched(tmp_path: Path, revision: str) -> None:
    with contextlib.closing(new_database(tmp_path / "a.db")) as database:
        with database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        with pytest.raises(EnvironmentProblem) as problem:
            migrate(database)
        assert str(problem.value) == (
            f"The database {database.name} cannot be migrated: its revision {revision} is older than 0018, that of "
            "Penstock's first release. Start the last version before this one on it once, which migrates it, and then "
            "this one."
        )
        assert revision_of(database) == revision


def test_a_store_that_does_not_answer_is_reported_in_one_sentence() -> None:
    # Nothing listens on port 1.
    database = Database("postgresql+pg8000://penstock:secret@127.0.0.1:1/penstock")
    with pytest.raises(EnvironmentProblem) as problem:
        migrate(database)
    database.close()
    assert ".." not in str(problem.value)
    assert str(problem.value).endswith(" Check that it runs, and the URL (--store-url or PENSTOCK_STORE_URL).")
    assert "secret" not in str(problem.value)


def say(database: Database, revision: str, readable_from: str | None) -> None:
    """Let the tables be those of a revision that this version does not have, as its own migration would."""
    with database.write() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        if readable_from is not None:
            connection.execute(text("CREATE TABLE IF NOT EXISTS readable_from (version_num VARCHAR(32) NOT NULL)"))
            connection.execute(text("DELETE FROM readable_from"))
            connection.execute(text(f"INSERT INTO readable_from VALUES ('{readable_from}')"))


@pytest.mark.parametrize("readable_from", [None, "9998", "9999"])
def test_a_database_of_a_version_too_new_is_refused_untouched(shared_database: Database, readable_from: str | None) -> None:
    say(shared_database, "9999", readable_from)
    with pytest.raises(EnvironmentProblem) as problem:
        migrate(shared_database)
    assert str(problem.value) == (
        f"The store {shared_database.name} was written by a newer Penstock: its revision is 9999, which servers from "
        f"{readable_from or '9999'} on can use, and this one's is {HEAD}. "
        "Upgrade this Penstock, or restore a backup from before the upgrade."
    )
    assert revision_of(shared_database) == "9999"


def test_a_database_of_the_next_version_is_served_as_it_is(shared_database: Database) -> None:
    say(shared_database, "9999", HEAD)
    migrate(shared_database)
    assert revision_of(shared_database) == "9999"


def test_the_next_version_says_which_servers_can_go_on(shared_database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.store.sql.migrate.HEAD", "0019")
    monkeypatch.setattr("penstock.store.sql.migrate._upgrade", lambda *_: None)
    migrate(shared_database)
    with shared_database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM readable_from")).scalar_one() == READABLE_FROM


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "penstock.db"
    file.write_bytes(b"no database at all" * 100)
    database = Database(f"sqlite:///{file}")
    with pytest.raises(EnvironmentProblem, match=r"file is not a database\. The file is damaged: .* run 'penstock restore'"):
        migrate(database)
    database.close()
