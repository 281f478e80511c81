"""The behaviour of every AccessStore."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound, AccessStore
from penstock.errors import DataProblem
from penstock.store.memory.access import MemoryAccessStore
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer

KEY = AccessKey(
    access_key_id="AKIAIOSFODNN7EXAMPLE",
    secret_access_key="wJalrXUtnFEMI-Zürich",
    account="111122223333",
    principal="arn:aws:iam::111122223333:user/ana",
    created=datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC),
)


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database("sqlite://")
    database.create_all()
    yield database
    database.close()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, database: Database) -> AccessStore:
    return MemoryAccessStore() if request.param == "memory" else SqlAccessStore(database, Sealer(bytes(32)))


def test_returns_what_was_added(store: AccessStore) -> None:
    store.add(KEY)
    assert store.get(KEY.access_key_id) == KEY
    assert store.get("AKIANOBODY") is None


def test_takes_an_id_once(store: AccessStore) -> None:
    store.add(KEY)
    with pytest.raises(AccessKeyExists, match=KEY.access_key_id):
        store.add(replace(KEY, secret_access_key="another"))
    assert store.get(KEY.access_key_id) == KEY


def test_puts_a_new_secret_in_place_of_the_old(store: AccessStore) -> None:
    store.put(KEY)
    newer = replace(KEY, secret_access_key="another")
    store.put(newer)
    assert store.list(KEY.account) == [newer]


def test_removes(store: AccessStore) -> None:
    store.add(KEY)
    store.remove(KEY.access_key_id)
    assert store.get(KEY.access_key_id) is None
    with pytest.raises(AccessKeyNotFound):
        store.remove(KEY.access_key_id)


def test_lists_an_account_by_id(store: AccessStore) -> None:
    keys = [replace(KEY, access_key_id=f"AKIA{number}") for number in (3, 1, 2)]
    for key in [*keys, replace(KEY, access_key_id="AKIA0", account="444455556666")]:
        store.add(key)
    assert [key.access_key_id for key in store.list(KEY.account)] == ["AKIA1", "AKIA2", "AKIA3"]


def test_no_secret_lies_in_the_database_in_clear(database: Database) -> None:
    SqlAccessStore(database, Sealer(bytes(32))).add(KEY)
    with database.read() as connection:
        row = connection.execute(text("SELECT * FROM access_keys")).one()
    assert KEY.secret_access_key.encode() not in row.secret_sealed


def test_another_master_key_opens_nothing_and_says_so(database: Database) -> None:
    SqlAccessStore(database, Sealer(bytes(32))).add(KEY)
    with pytest.raises(DataProblem, match="master key file is not the one"):
        SqlAccessStore(database, Sealer(b"1" * 32)).get(KEY.access_key_id)


def test_a_secret_moved_to_another_row_does_not_open(database: Database) -> None:
    store = SqlAccessStore(database, Sealer(bytes(32)))
    store.add(KEY)
    with database.write() as connection:
        connection.execute(text("UPDATE access_keys SET access_key_id = 'AKIAOTHER'"))
    with pytest.raises(DataProblem, match="AKIAOTHER"):
        store.get("AKIAOTHER")
