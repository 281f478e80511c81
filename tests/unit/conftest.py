"""What unit tests of several packages share."""

import pytest

from penstock.store.sql.database import Database
from penstock.testing.sqlite import new_database


@pytest.fixture
def database() -> Database:
    """A database in memory, without rows."""
    return new_database()
