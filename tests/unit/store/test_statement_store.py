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


def test_only_states_that_nothing_depends_on_are_not_synced(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    with database.write(synced=False) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 1  # NORMAL
    with pytest.raises(ZeroDivisionError), database.write(synced=False):
        raise ZeroDivisionError
    with database.write() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
    database.close()
