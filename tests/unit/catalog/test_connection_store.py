"""The behaviour of every ConnectionStore."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from penstock.catalog.connections import Connection, ConnectionExists, ConnectionNotFound, ConnectionStore
from penstock.store.memory.connections import MemoryConnectionStore
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
MSK = Connection(
    name="msk",
    type="KAFKA",
    properties={"KAFKA_BOOTSTRAP_SERVERS": "b-1:9096", "KAFKA_SASL_SCRAM_PASSWORD": "pässword"},
    description="of the shop",
    match_criteria=("a", "b"),
    place={"SubnetId": "subnet-1", "SecurityGroupIdList": ["sg-1"]},
    created=NOW,
    updated=NOW,
    updated_by="arn:aws:iam::111122223333:root",
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, database: Database) -> ConnectionStore:
    return MemoryConnectionStore() if request.param == "memory" else SqlConnectionStore(database, Sealer(bytes(32)))


def test_returns_what_was_created(store: ConnectionStore) -> None:
    store.create(MSK)
    assert store.get("msk") == MSK
    assert store.get("MSK") is None
    with pytest.raises(ConnectionExists):
        store.create(MSK)


def test_lists_by_name(store: ConnectionStore) -> None:
    for name in ("c", "a", "b"):
        store.create(replace(MSK, name=name))
    assert [each.name for each in store.list(after=None, limit=2)] == ["a", "b"]
    assert [each.name for each in store.list(after="b", limit=2)] == ["c"]


def test_changes_and_deletes(store: ConnectionStore) -> None:
    store.create(MSK)
    store.change("msk", lambda old: replace(old, description=None))
    assert store.get("msk") == replace(MSK, description=None)
    store.delete("msk")
    assert store.get("msk") is None
    with pytest.raises(ConnectionNotFound):
        store.delete("msk")
    with pytest.raises(ConnectionNotFound):
        store.change("msk", lambda old: old)


def test_the_database_has_no_connection_in_plain_text(database: Database) -> None:
    SqlConnectionStore(database, Sealer(bytes(32))).create(MSK)
    with database.read() as connection:
        (sealed,) = connection.execute(text("SELECT body_sealed FROM catalog_connection")).scalars().all()
    assert "pässword".encode() not in sealed
    assert b"b-1:9096" not in sealed
    assert "pässword" not in repr(MSK)
