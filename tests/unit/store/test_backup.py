"""Backups of an SQLite store: whole, refused where something is in the way, and restored in one step."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from penstock.access.entities import Account
from penstock.cli.main import cli
from penstock.errors import AlreadyExists, DataProblem, EnvironmentProblem, InvalidInput
from penstock.registry.errors import SchemaNotFound
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.secrets.model import Secret, SecretValue, SecretVersion
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.backup import back_up, restore
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.store.sql.tables import metadata
from penstock.store.sql.tenancy import of_account, with_database
from tests.unit.registry.registrations import register

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
SECRET = Secret(
    arn="arn:aws:secretsmanager:us-east-1:111122223333:secret:db-AbCdEf",
    account="111122223333",
    name="db",
    created=NOW,
    changed=NOW,
    tags={"team": "data"},
    versions=(SecretVersion(id="v", value=SecretValue(text="x"), stages=frozenset({"AWSCURRENT"}), created=NOW),),
)


def sqlite_store(path: Path) -> Database:
    database = Database(f"sqlite:///{path}")
    migrate(database)
    return database


def fill(database: Database) -> RegistryService:
    """A schema of two versions with metadata, and a secret."""
    service = RegistryService(SqlRegistryStore(database))
    service.registries.create("r", tags={"a": "b"})
    _, version = service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", definition='"int"'))
    assert version is not None
    register(service, SchemaKey("r", "s"), '"long"')
    service.metadata.put(version, "k", "v")
    SqlSecretStore(database, Sealer(bytes(32))).create(SECRET)
    return service


def rows(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """All rows but those that say that something was restored."""
    with database.read() as connection:
        results = {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }
    results["audit"] = [row for row in results["audit"] if "Restore" not in row]
    del results["registry_epoch"]
    return results


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Database]:
    database = sqlite_store(tmp_path / "store.db")
    fill(database)
    yield database
    database.close()


def test_a_backup_restores_every_row(filled: Database, tmp_path: Path) -> None:
    counted = back_up(filled, tmp_path / "backups" / "one.backup")
    assert counted["schema_versions"] == 2
    other = sqlite_store(tmp_path / "other.db")
    assert restore(tmp_path / "backups" / "one.backup", other) == counted
    assert rows(other) == rows(filled)
    assert SqlSecretStore(other, Sealer(bytes(32))).by_name(SECRET.account, "db") == SECRET
    key = SchemaKey("r", "s")
    assert register(RegistryService(SqlRegistryStore(other)), key, '"double"').number == 3
    other.close()
    assert (tmp_path / "backups" / "one.backup").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["one.backup"]


def test_a_restore_replaces_all_in_one_step_under_a_running_store(filled: Database, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "b")
    running = Database(str(filled.url))
    service = RegistryService(SqlRegistryStore(running))
    key = SchemaKey("r", "s")
    later = register(service, key, '"double"')
    service.schemas.create(NewSchema(registry="r", name="later", data_format="AVRO", definition='"int"'))
    assert service.versions.get(later.id) == later
    with pytest.raises(InvalidInput, match=r"holds something already: schemas.*--replace"):
        restore(tmp_path / "b", filled)
    restore(tmp_path / "b", filled, replace=True)
    with pytest.raises(SchemaNotFound):
        service.schemas.get(SchemaKey("r", "later"))
    assert service.schemas.get(key).latest == 2
    assert [head.number for head in service.versions.heads(key)] == [1, 2]
    assert service.versions._store.get(later.id) is None
    running.close()


def test_no_schema_id_is_given_twice_after_a_restore(filled: Database, tmp_path: Path) -> None:
    key = SchemaKey("r", "s")
    back_up(filled, tmp_path / "b")
    given = register(RegistryService(SqlRegistryStore(filled)), key, '"double"').schema_id
    restore(tmp_path / "b", filled, replace=True)
    assert register(RegistryService(SqlRegistryStore(filled)), key, '"string"').schema_id == given + 1
    # The store is lost with what it gave: only its owner knows how far that went.
    other = sqlite_store(tmp_path / "other.db")
    restore(tmp_path / "b", other, ids_above=41)
    assert register(RegistryService(SqlRegistryStore(other)), key, '"string"').schema_id == 42
    other.close()


def test_what_is_no_backup_changes_nothing(filled: Database, tmp_path: Path) -> None:
    before = rows(filled)
    good = tmp_path / "good"
    back_up(filled, good)
    content = good.read_bytes()
    (tmp_path / "text").write_text("not a database")
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    with closing(sqlite3.connect(tmp_path / "foreign")) as other:
        other.execute("CREATE TABLE x (y)")
    for name in ("text", "cut", "foreign"):
        with pytest.raises(DataProblem, match=r"backup"):
            restore(tmp_path / name, filled, replace=True)
    with pytest.raises(InvalidInput, match="no file"):
        restore(tmp_path / "missing", filled, replace=True)
    assert rows(filled) == before


def test_a_backup_from_before_the_first_release_is_refused(filled: Database, tmp_path: Path) -> None:
    before, old = rows(filled), tmp_path / "old"
    back_up(filled, old)
    with closing(sqlite3.connect(old)) as backup, backup:
        backup.execute("UPDATE alembic_version SET version_num = '0017'")
    with pytest.raises(DataProblem) as problem:
        restore(old, filled, replace=True)
    assert str(problem.value) == (
        f"The backup {old} is of revision 0017, older than 0018, that of Penstock's first release. Restore it with the last "
        "version before this one into an empty store, and start this one on that store."
    )
    assert rows(filled) == before


def test_backups_overwrite_nothing(filled: Database, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    with pytest.raises(AlreadyExists):
        back_up(filled, tmp_path / "b")
    assert (tmp_path / "b").read_text() == "mine"
    with pytest.raises(EnvironmentProblem, match="has no tables"):
        back_up(Database(f"sqlite:///{tmp_path / 'empty.db'}"), tmp_path / "c")


def test_the_commands(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "store").mkdir(parents=True)
    database = sqlite_store(home / "store" / "penstock.db")
    fill(database)
    database.close()
    run = CliRunner()
    done = run.invoke(cli, ["backup", str(tmp_path / "b"), "--home", str(home)], catch_exceptions=False)
    assert "rows" in done.output
    target = f"sqlite:///{tmp_path / 'new' / 'penstock.db'}"
    done = run.invoke(cli, ["restore", str(tmp_path / "b"), "--store-url", target], catch_exceptions=False)
    assert f"from {tmp_path / 'b'}" in done.output
    with pytest.raises(InvalidInput, match="--replace"):
        run.invoke(cli, ["restore", str(tmp_path / "b"), "--store-url", target], catch_exceptions=False)
    with pytest.raises(EnvironmentProblem, match="no store"):
        run.invoke(cli, ["backup", str(tmp_path / "c"), "--home", str(tmp_path / "x")], catch_exceptions=False)


def test_further_accounts_are_backed_up_and_restored_each_in_its_own_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "store").mkdir(parents=True)
    first = sqlite_store(home / "store" / "penstock.db")
    access = SqlAccessStore(first, Sealer(bytes(32)))
    for account in ("111122223333", "444455556666", "777788889999"):
        access.add_account(Account(id=account, name="n", email="n@example.com", created=NOW))
    # The first account has no database of its own, and nobody asked for the last one yet.
    own = of_account(first, "444455556666")
    migrate(own)
    fill(own)
    expected = rows(own)
    own.close()
    assert with_database(first) == ["444455556666"]
    first.close()
    run = CliRunner()
    done = run.invoke(cli, ["backup", str(tmp_path / "b.db"), "--home", str(home)], catch_exceptions=False)
    assert done.output.count(" rows, ") == 2
    assert sorted(file.name for file in tmp_path.glob("b*")) == ["b-444455556666.db", "b.db"]
    target = tmp_path / "new" / "store.db"
    run.invoke(cli, ["restore", str(tmp_path / "b.db"), "--store-url", f"sqlite:///{target}"], catch_exceptions=False)
    with closing(Database(f"sqlite:///{tmp_path / 'new' / 'store-444455556666.db'}")) as restored:
        assert rows(restored) == expected
