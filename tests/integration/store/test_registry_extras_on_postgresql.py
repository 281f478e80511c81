"""References, inherited policies, imports and deletion in two steps, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore

_SUITE = import_module("tests.unit.registry.test_registry_extras")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlRegistryStore:
    return SqlRegistryStore(postgres_database)
