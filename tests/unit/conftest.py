"""What unit tests of several packages share."""

from collections.abc import Iterator

import pytest

from penstock.store.sql.database import Database


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database("sqlite://")
    database.create_all()
    yield database
    database.close()
