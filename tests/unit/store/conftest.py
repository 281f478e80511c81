"""The databases that the suites of the stores run over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.store.sql.database import Database
from penstock.testing.sqlite import new_database


@pytest.fixture
def shared_database(tmp_path: Path) -> Iterator[Database]:
    """A database without rows that several stores, threads or processes open: here in a file."""
    database = new_database(tmp_path / "penstock.db")
    yield database
    database.close()


@pytest.fixture(params=["file", "memory"])
def any_database(request: pytest.FixtureRequest) -> Database:
    """A database without rows: in a file, and in memory, where all threads share one connection."""
    database: Database = request.getfixturevalue("shared_database" if request.param == "file" else "database")
    return database
