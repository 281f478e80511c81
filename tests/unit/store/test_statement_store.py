"""The behaviour of the statement store on SQLite."""

from pathlib import Path

import pytest

from penstock.statements.store import StatementStore
from penstock.store.sql.database import Database
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.suites import StatementStoreSuite


class TestStatementStores(StatementStoreSuite):
    @pytest.fixture
    def store(self, any_database: Database) -> StatementStore:
        return SqlStatementStore(any_database)


def test_only_states_that_nothing_depends_on_are_not_synced(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    with database.write(synced=False) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 1  # NORMAL
    with pytest.raises(ZeroDivisionError), database.write(synced=False):
        raise ZeroDivisionError
    with database.write() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
    database.close()
