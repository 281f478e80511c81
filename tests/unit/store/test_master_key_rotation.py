"""The master key is changed under a store that is in use, and stopping at any point loses nothing."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import update

from penstock.access.entities import Account
from penstock.access.keys import AccessKey
from penstock.catalog.connections import Connection
from penstock.cli.main import cli
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput
from penstock.locks import file_lock
from penstock.secrets.model import Secret, SecretValue, SecretVersion
from penstock.store.sql import rotation
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.catalog.connections import SqlConnectionStore, connections
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.store.sql.rotation import add_key, create_key_file, forget_keys, rotate, sealed_with, sealer_of
from penstock.store.sql.sealing import SEALED, MasterKeys, Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.store.sql.tables import metadata
from penstock.store.sql.tenancy import of_account

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ACCOUNTS = ("111122223333", "444455556666")


class Stores:
    """The databases of two accounts with a value of each kind, and the key file."""

    def __init__(self, home: Path, first: Database | None = None) -> None:
        self.path = home / "master.key"
        (home / "store").mkdir(parents=True)
        first = first or Database(f"sqlite:///{home / 'store' / 'penstock.db'}")
        migrate(first)
        self.sealer = Sealer.of_file(self.path)
        access = SqlAccessStore(first, self.sealer)
        for account in ACCOUNTS:
            access.add_account(Account(id=account, name="n", email="n@example.com", created=NOW))
        access.put(AccessKey(access_key_id="AKIA", secret_access_key="k", account=ACCOUNTS[0], principal="p", created=NOW))
        second = of_account(first, ACCOUNTS[1])
        migrate(second)
        self.databases = [first, second]
        for database in self.databases:
            self.add(database, "db")
            connection = Connection(name="c", type="KAFKA", properties={"p": "v"}, created=NOW, updated=NOW)
            SqlConnectionStore(database, self.sealer).create(connection)

    def add(self, database: Database, name: str, sealer: Sealer | None = None) -> None:
        """Store a secret, as a server does."""
        version = SecretVersion(id="v", value=SecretValue(text=name), stages=frozenset({"AWSCURRENT"}), created=NOW)
        arn = f"arn:aws:secretsmanager:us-east-1:{ACCOUNTS[0]}:secret:{name}"
        secret = Secret(arn=arn, account=ACCOUNTS[0], name=name, created=NOW, changed=NOW, tags={}, versions=(version,))
        SqlSecretStore(database, sealer or self.sealer).create(secret)

    def check(self) -> None:
        """Everything opens with the keys that the file has now."""
        sealer = Sealer.of_file(self.path)
        key = SqlAccessStore(self.databases[0], sealer).get("AKIA")
        assert key is not None
        assert key.secret_access_key == "k"
        for database in self.databases:
            secret = SqlSecretStore(database, sealer).by_name(ACCOUNTS[0], "db")
            assert secret is not None
            assert secret.versions[0].value.text == "db"
            assert SqlConnectionStore(database, sealer).get("c").properties == {"p": "v"}  # type: ignore[union-attr]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    made = Stores(tmp_path / "home")
    yield made
    for database in made.databases:
        database.close()


def test_every_sealed_column_is_known() -> None:
    columns = {(table.name, column.name) for table in metadata.sorted_tables for column in table.c}
    sealed = {(table, column) for table, column in columns if column.endswith("_sealed")}
    assert sealed == {(table.name, name) for table, name, _ in SEALED}


def test_everything_is_sealed_with_the_new_key_and_nothing_is_lost(stores: Stores) -> None:
    old = MasterKeys.load(stores.path).current
    done = rotate(stores.path, stores.databases)
    assert (done.values, done.finished) == (5, False)
    assert sealed_with(stores.databases) == {done.key: 5}
    assert done.key != old.id
    stores.check()
    assert forget_keys(stores.path, stores.databases) == [old.id]
    assert tuple(MasterKeys.load(stores.path)) == (MasterKeys.load(stores.path).current,)
    stores.check()
    # The server that ran all the while goes on with the new one.
    stores.add(stores.databases[0], "later")
    assert sealed_with(stores.databases) == {done.key: 6}


@pytest.mark.parametrize("stop", [0, 1])
def test_a_rotation_stopped_anywhere_is_finished_by_the_next_one(
    stores: Stores, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = rotation._seal_anew, []

    def dying(database: Database, sealer: Sealer) -> int:
        calls.append(database)
        if len(calls) > stop:
            raise KeyboardInterrupt
        return real(database, sealer)

    monkeypatch.setattr(rotation, "_seal_anew", dying)
    with pytest.raises(KeyboardInterrupt):
        rotate(stores.path, stores.databases)
    monkeypatch.undo()
    stores.check()
    with pytest.raises(InvalidInput, match=r"values are not sealed with the current master key.* rotate"):
        forget_keys(stores.path, stores.databases)
    done = rotate(stores.path, stores.databases)
    assert done.finished
    assert sealed_with(stores.databases) == {done.key: 5}
    stores.check()


def test_what_a_server_sealed_with_the_old_key_meanwhile_is_found(stores: Stores) -> None:
    late = Sealer(MasterKeys.load(stores.path))
    rotate(stores.path, stores.databases)
    stores.add(stores.databases[1], "late", late)
    with pytest.raises(InvalidInput, match="1 values"):
        forget_keys(stores.path, stores.databases)
    assert rotate(stores.path, stores.databases).values == 1
    assert len(forget_keys(stores.path, stores.databases)) == 1


def test_what_servers_write_while_values_are_sealed_anew_is_what_stays(stores: Stores) -> None:
    """A rotation that wrote back what it had read would undo a change made meanwhile."""
    stored, done, written = SqlConnectionStore(stores.databases[1], stores.sealer), threading.Event(), 0

    def counted(kept: Connection) -> Connection:
        return replace(kept, properties={"p": str(written)})

    def write() -> None:
        nonlocal written
        while not done.is_set() or written < 20:
            written += 1
            stored.change("c", counted)

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(4):
        rotate(stores.path, stores.databases)
    done.set()
    writer.join()
    rotate(stores.path, stores.databases)
    kept = SqlConnectionStore(stores.databases[1], Sealer.of_file(stores.path)).get("c")
    assert kept is not None
    assert kept.properties == {"p": str(written)}


def test_one_process_at_a_time_changes_the_file(stores: Stores) -> None:
    with file_lock(stores.path.with_name(".master.key.lock")), pytest.raises(InvalidInput, match="Another process changes"):
        add_key(stores.path)
    add_key(stores.path)


def test_a_key_waits_until_all_servers_have_it(stores: Stores) -> None:
    waiting = add_key(stores.path)
    with pytest.raises(InvalidInput, match="waits in"):
        add_key(stores.path)
    assert stores.sealer.keys.current != waiting
    # Another machine's server has a copy from now, and reads what is sealed after the rotation here.
    there = Sealer(MasterKeys.load(stores.path))
    assert rotate(stores.path, stores.databases).key == waiting.id
    assert SqlSecretStore(stores.databases[0], there).by_name(ACCOUNTS[0], "db") is not None


def test_a_value_that_does_not_open_stops_the_rotation_and_changes_nothing(stores: Stores) -> None:
    with stores.databases[0].write() as connection:
        connection.execute(update(connections).values(body_sealed=b"\0"))
    before = sealed_with(stores.databases)
    with pytest.raises(DataProblem, match="connection c cannot be decrypted"):
        rotate(stores.path, stores.databases)
    assert sealed_with(stores.databases) == before


def test_the_commands(stores: Stores) -> None:
    home = ["--home", str(stores.path.parent)]
    run = CliRunner()

    def said(*arguments: str) -> str:
        return run.invoke(cli, ["master-key", *arguments, *home], catch_exceptions=False).output

    old = MasterKeys.load(stores.path).current.id
    assert f"{old}  current  5 values" in said("list")
    assert "waits in" in said("add")
    assert "5 values sealed with master key" in said("rotate")
    listed = said("list")
    assert f"{old}  older  0 values" in listed
    assert stores.path.read_text().split()[0] not in listed
    assert f"Removed from {stores.path}: {old}." in said("forget")
    with closing(sqlite3.connect(stores.path.parent / "store" / "penstock.db")) as connection:
        written = connection.execute("SELECT outcome FROM audit WHERE operation = 'RotateMasterKey'").fetchall()
    assert [text for (text,) in written] == [f"3 values sealed with {MasterKeys.load(stores.path).current.id}"]
    stores.check()


def test_a_lost_key_file_is_not_replaced_where_something_is_sealed(stores: Stores) -> None:
    lost = stores.sealer.keys.current.id
    stores.path.unlink()
    with pytest.raises(EnvironmentProblem, match=f"no master key file .* holds 5 values .* sealed with master key {lost}"):
        sealer_of(stores.path, stores.databases[0])
    assert not stores.path.exists()


def test_what_another_account_has_sealed_counts_too(stores: Stores) -> None:
    stores.path.unlink()
    with stores.databases[0].write() as connection:
        for table, _, _ in SEALED:
            connection.execute(table.delete())
    with pytest.raises(EnvironmentProblem, match="holds 2 values"):
        sealer_of(stores.path, stores.databases[0])


def test_a_lost_key_is_given_up_by_a_command_alone(stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="is there already"):
        create_key_file(stores.path)
    lost = stores.sealer.keys.current
    stores.path.unlink()
    made = create_key_file(stores.path)
    assert made != lost
    assert sealer_of(stores.path, stores.databases[0]).keys.current == made


def test_an_empty_store_gets_a_key_also_before_it_has_tables(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new.db'}")
    assert sealer_of(tmp_path / "master.key", database).keys.current
    database.close()
