"""The behaviour suite of the connections' store, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer

_SUITE = import_module("tests.unit.catalog.test_connection_store")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlConnectionStore:
    return SqlConnectionStore(postgres_database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
