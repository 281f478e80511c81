"""The behaviour of the registry store, over PostgreSQL; and what two processes on one database see."""

from collections.abc import Iterator

import pytest

from penstock.registry.model import Version
from penstock.registry.store import RegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.suites import RegistryStoreSuite
from tests.unit.store.test_registry_store import (
    TestTwoProcesses,
    test_old_records_are_dropped_also_where_several_come_at_once,
    test_versions_read_after_a_schema_are_no_older_than_it,
    two_stores,
)

__all__ = [
    "TestTwoProcesses",
    "test_old_records_are_dropped_also_where_several_come_at_once",
    "test_versions_read_after_a_schema_are_no_older_than_it",
]


class TestOnPostgresql(RegistryStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> RegistryStore:
        return SqlRegistryStore(postgres_database)


@pytest.fixture
def shared_database(postgres_database: Database) -> Database:
    return postgres_database


@pytest.fixture
def pair(postgres_url: str) -> Iterator[tuple[list[SqlRegistryStore], Version]]:
    databases = [Database(postgres_url) for _ in range(2)]
    yield two_stores(databases)
    for database in databases:
        database.close()
