"""The behaviour of every :class:`~penstock.catalog.connections.ConnectionStore`."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.catalog.connections import Connection, ConnectionExists, ConnectionNotFound, ConnectionStore

__all__ = ["ConnectionStoreSuite"]

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


class ConnectionStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.catalog.connections.ConnectionStore`."""

    def test_returns_what_was_created(self, store: ConnectionStore) -> None:
        store.create(MSK)
        assert store.get("msk") == MSK
        assert store.get("MSK") is None
        with pytest.raises(ConnectionExists):
            store.create(MSK)

    def test_lists_by_name(self, store: ConnectionStore) -> None:
        for name in ("c", "a", "b"):
            store.create(replace(MSK, name=name))
        assert [connection.name for connection in store.list(after=None, limit=2)] == ["a", "b"]
        assert [connection.name for connection in store.list(after="b", limit=2)] == ["c"]

    def test_changes_and_deletes(self, store: ConnectionStore) -> None:
        store.create(MSK)
        store.change("msk", lambda old: replace(old, description=None))
        assert store.get("msk") == replace(MSK, description=None)
        store.delete("msk")
        assert store.get("msk") is None
        with pytest.raises(ConnectionNotFound):
            store.delete("msk")
        with pytest.raises(ConnectionNotFound):
            store.change("msk", lambda old: old)
