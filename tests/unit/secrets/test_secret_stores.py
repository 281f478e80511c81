"""The behaviour of every secret store, over memory and SQLite; the database has no secret in plain text."""

import pytest
from sqlalchemy import text

from penstock.secrets.model import SecretStore
from penstock.store.memory.secrets import MemorySecretStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.suites import SecretStoreSuite
from penstock.testing.suites.secrets import SECRET


class TestSecretStores(SecretStoreSuite):
    @pytest.fixture(params=["memory", "sqlite"])
    def store(self, request: pytest.FixtureRequest, database: Database) -> SecretStore:
        return MemorySecretStore() if request.param == "memory" else SqlSecretStore(database, Sealer(bytes(32)))


def test_the_database_has_no_value_in_plain_text(database: Database) -> None:
    SqlSecretStore(database, Sealer(bytes(32))).create(SECRET)
    with database.read() as connection:
        sealed = connection.execute(text("SELECT value_sealed FROM secret_versions")).scalars().all()
    assert len(sealed) == 2
    assert not any("pässword".encode() in value or value == b"\x00\xff" for value in sealed)
    assert "pässword" not in repr(SECRET)
