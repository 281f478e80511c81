"""The rules of the registry's service, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore

for _name in ("test_registry_service", "test_registering_together"):
    _suite = vars(import_module(f"tests.unit.registry.{_name}"))
    globals().update({name: value for name, value in _suite.items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlRegistryStore:
    return SqlRegistryStore(postgres_database)
