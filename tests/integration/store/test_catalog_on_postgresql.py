"""The behaviour of the catalog store, over PostgreSQL."""

import pytest

from penstock.catalog.store import CatalogStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.testing.suites import CatalogStoreSuite


class TestOnPostgresql(CatalogStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> CatalogStore:
        return SqlCatalogStore(postgres_database)
