"""The behaviour of the store of Athena's resources, over PostgreSQL."""

import pytest

from penstock.statements.resources import ResourceStore
from penstock.store.sql.database import Database
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.suites import ResourceStoreSuite


class TestOnPostgresql(ResourceStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> ResourceStore:
        return SqlResourceStore(postgres_database)
