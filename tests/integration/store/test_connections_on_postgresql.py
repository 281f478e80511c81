"""The behaviour of the connection store, over PostgreSQL."""

import pytest

from penstock.catalog.connections import ConnectionStore
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.testing.suites import ConnectionStoreSuite
from tests.unit.catalog.test_connection_store import test_the_database_has_no_connection_in_plain_text

__all__ = ["test_the_database_has_no_connection_in_plain_text"]


class TestOnPostgresql(ConnectionStoreSuite):
    @pytest.fixture
    def store(self, database: Database) -> ConnectionStore:
        return SqlConnectionStore(database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
