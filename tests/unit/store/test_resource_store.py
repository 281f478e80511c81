"""The behaviour of the store of Athena's resources on SQLite."""

import pytest

from penstock.statements.resources import ResourceStore
from penstock.store.sql.database import Database
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.suites import ResourceStoreSuite


class TestResourceStores(ResourceStoreSuite):
    @pytest.fixture
    def store(self, any_database: Database) -> ResourceStore:
        return SqlResourceStore(any_database)
