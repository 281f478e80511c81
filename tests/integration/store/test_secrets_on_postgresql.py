"""The behaviour of the secret store, over PostgreSQL."""

import pytest

from penstock.secrets.model import SecretStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.suites import SecretStoreSuite
from tests.unit.secrets.test_secret_stores import test_the_database_has_no_value_in_plain_text

__all__ = ["test_the_database_has_no_value_in_plain_text"]


class TestOnPostgresql(SecretStoreSuite):
    @pytest.fixture
    def store(self, database: Database) -> SecretStore:
        return SqlSecretStore(database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
