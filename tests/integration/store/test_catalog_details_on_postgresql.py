"""The behaviour of details in the catalog's store, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database

_SUITE = import_module("tests.unit.store.test_catalog_details_store")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlCatalogStore:
    return SqlCatalogStore(postgres_database)
