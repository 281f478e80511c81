"""The behaviour suite of the statements' store, over PostgreSQL."""

from importlib import import_module

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.statements import SqlStatementStore

_SUITE = import_module("tests.unit.store.test_statement_store")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def store(request: pytest.FixtureRequest, postgres_database: Database) -> SqlStatementStore:
    return SqlStatementStore(postgres_database)
