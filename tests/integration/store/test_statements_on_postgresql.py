"""The behaviour of the statement store, over PostgreSQL."""

import pytest

from penstock.statements.store import StatementStore
from penstock.store.sql.database import Database
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.suites import StatementStoreSuite


class TestOnPostgresql(StatementStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> StatementStore:
        return SqlStatementStore(postgres_database)
