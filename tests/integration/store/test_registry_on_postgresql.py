"""The behaviour suite of the registry's store, and the rules of its service, over PostgreSQL."""

from collections.abc import Iterator
from importlib import import_module

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore

_SUITE = import_module("tests.unit.store.test_registry_store")
for _module in (_SUITE, import_module("tests.unit.store.test_registry_store_together")):
    globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlRegistryStore:
    return SqlRegistryStore(postgres_database)


@pytest.fixture
def pair(postgres_url: str) -> Iterator[object]:
    databases = [Database(postgres_url) for _ in range(2)]
    yield _SUITE.two_stores(databases)
    for database in databases:
        database.close()
