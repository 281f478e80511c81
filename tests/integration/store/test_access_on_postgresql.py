"""The behaviour suite of the access keys' store, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer

_SUITE = import_module("tests.unit.access.test_access_stores")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlAccessStore:
    return SqlAccessStore(postgres_database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
