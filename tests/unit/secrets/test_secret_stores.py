"""The behaviour of the secret store on SQLite; the database has no secret in plain text."""

import pytest
from sqlalchemy import text

from penstock.secrets.model import SecretStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.suites import SecretStoreSuite
from penstock.testing.suites.secrets import SECRET


class TestSecretStores(SecretStoreSuite):
    @pytest.fixture
    def store(self, database: Database) -> SecretStore:
        return SqlSecretStore(database, Sealer(bytes(32)))


def test_the_database_has_no_value_in_plain_text(database: Database) -> None:
    SqlSecretStore(database, Sealer(bytes(32))).create(SECRET)
    with database.read() as connection:
        sealed = connection.execute(text("SELECT value_sealed FROM secret_versions")).scalars().all()
    assert len(sealed) == 2
    assert not any("pässword".encode() in value or value == b"\x00\xff" for value in sealed)
    assert "pässword" not in repr(SECRET)
