"""The databases that the suites of the stores run over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.store.sql.database import Database
from penstock.testing.sqlite import new_database


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    """A database in a file, without rows."""
    database = new_database(tmp_path / "penstock.db")
    yield database
    database.close()


@pytest.fixture(params=["file", "memory"])
def any_database(request: pytest.FixtureRequest) -> Database:
    """A database without rows: in a file, and in memory, where all threads share one connection."""
    database: Database = request.getfixturevalue("file_database" if request.param == "file" else "database")
    return database
