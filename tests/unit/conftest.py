"""What unit tests of several packages share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from penstock.store.sql.database import Database
from penstock.testing.sqlite import new_database

if TYPE_CHECKING:
    from tests.unit.query.shared_children import SharedChildren


@pytest.fixture
def database() -> Database:
    """A database in memory, without rows."""
    return new_database()


@pytest.fixture(scope="session")
def children(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SharedChildren]":
    """One pool of statements' processes for all services of all tests; their lakes are in folders of the session."""
    from tests.unit.query.shared_children import SharedChildren

    pool = SharedChildren(tmp_path_factory.getbasetemp())
    yield pool
    pool.close()
