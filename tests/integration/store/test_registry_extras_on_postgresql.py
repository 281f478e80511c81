"""References, inherited configurations, imports and soft deletion, over PostgreSQL."""

import pytest

from penstock.registry.store import RegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from tests.unit.registry.test_registry_extras import *  # noqa: F403


@pytest.fixture
def store(postgres_database: Database) -> RegistryStore:
    return SqlRegistryStore(postgres_database)
