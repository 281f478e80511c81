"""The behaviour of the connection store on SQLite; and that the database has no password in clear."""

import pytest
from sqlalchemy import text

from penstock.catalog.connections import ConnectionStore
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.testing.suites import ConnectionStoreSuite
from penstock.testing.suites.connections import MSK


class TestConnectionStores(ConnectionStoreSuite):
    @pytest.fixture
    def store(self, database: Database) -> ConnectionStore:
        return SqlConnectionStore(database, Sealer(bytes(32)))


def test_the_database_has_no_connection_in_plain_text(database: Database) -> None:
    SqlConnectionStore(database, Sealer(bytes(32))).create(MSK)
    with database.read() as connection:
        (sealed,) = connection.execute(text("SELECT body_sealed FROM catalog_connection")).scalars().all()
    assert "pässword".encode() not in sealed
    assert b"b-1:9096" not in sealed
    assert "pässword" not in repr(MSK)
