"""Which root keys the S3 endpoint takes: those of the server's store, and before there is one the key it was given."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from penstock.access.keys import AccessKey
from penstock.access.principals import root_arn
from penstock.server.s3 import BootstrapKeys
from penstock.settings.server import BootstrapKey
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import MasterKeys, Sealer

ACCOUNT = "111122223333"
KEY = BootstrapKey(access_key_id="AKIATESTSROOTSOWNKEY", secret_access_key="the-secret-of-root")


@pytest.fixture
def sealer(tmp_path: Path) -> Sealer:
    return Sealer(MasterKeys.load(tmp_path / "master.key"))


def test_only_the_bootstrap_key_is_known_before_a_server_has_prepared_the_store(sealer: Sealer) -> None:
    database = Database("sqlite://")
    keys = BootstrapKeys(database, sealer, KEY, ACCOUNT)
    key = keys.get(KEY.access_key_id)
    assert key is not None
    assert (key.principal, key.secret_access_key) == (root_arn(ACCOUNT), KEY.secret_access_key)
    assert keys.get("AKIAOTHER") is None
    database.close()


def test_a_root_key_that_was_removed_or_deactivated_is_not_taken(database: Database, sealer: Sealer) -> None:
    store = SqlAccessStore(database, sealer)
    keys = BootstrapKeys(database, sealer, KEY, ACCOUNT)
    assert keys.get(KEY.access_key_id) is None
    store.put(
        AccessKey(
            access_key_id=KEY.access_key_id,
            secret_access_key=KEY.secret_access_key,
            account=ACCOUNT,
            principal=root_arn(ACCOUNT),
            created=datetime.now(UTC),
        )
    )
    assert keys.get(KEY.access_key_id) is not None
    store.set_active(KEY.access_key_id, active=False)
    key = keys.get(KEY.access_key_id)
    assert key is not None
    assert not key.active
    store.remove(KEY.access_key_id)
    assert keys.get(KEY.access_key_id) is None


def test_a_store_that_fails_is_not_taken_for_one_without_keys(
    database: Database, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = BootstrapKeys(database, sealer, KEY, ACCOUNT)

    def fail(_self: SqlAccessStore, _key: str) -> None:
        raise DBAPIError("SELECT", None, OSError("gone"))

    monkeypatch.setattr(SqlAccessStore, "get", fail)
    with pytest.raises(DBAPIError):
        keys.get(KEY.access_key_id)
