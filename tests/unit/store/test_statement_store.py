"""The behaviour of every statement store, over memory and SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.statements.store import StatementStore
from penstock.store.memory.statements import MemoryStatementStore
from penstock.store.sql.database import Database
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.suites import StatementStoreSuite


class TestStatementStores(StatementStoreSuite):
    @pytest.fixture(params=["memory", "sqlite"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StatementStore]:
        if request.param == "memory":
            yield MemoryStatementStore()
            return
        database = Database(f"sqlite:///{tmp_path / 'store.db'}")
        database.create_all()
        yield SqlStatementStore(database)
        database.close()
