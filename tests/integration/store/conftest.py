"""One PostgreSQL server for the session, and a database of its own for each test."""

from collections.abc import Iterator

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.testing.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: PostgresServer) -> str:
    """The name of a migrated database that nobody is connected to."""
    url = postgres.new_database()
    database = Database(url)
    migrate(database)
    database.close()
    return url.rpartition("/")[2]


@pytest.fixture
def postgres_url(postgres: PostgresServer, template: str) -> str:
    """The URL of a migrated database without rows."""
    return postgres.new_database(template)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url)
    yield database
    database.close()
