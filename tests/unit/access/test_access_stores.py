"""The behaviour of the access store on SQLite, and its rows."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import text

from penstock.access.entities import (
    EntityKind,
)
from penstock.access.keys import AccessStore
from penstock.errors import DataProblem
from penstock.registry.audit import Actor, acting
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.testing.suites import AccessStoreSuite
from penstock.testing.suites.access import KEY, ROLE, USER, add


class TestAccessStores(AccessStoreSuite):
    @pytest.fixture
    def store(self, database: Database) -> AccessStore:
        return SqlAccessStore(database, Sealer(bytes(32)))


def test_reads_a_user_of_a_release_without_groups(database: Database) -> None:
    store = SqlAccessStore(database, Sealer(bytes(32)))
    plain = replace(USER, groups=(), boundary=None)
    add(store, plain)
    with database.write() as connection:
        content = json.loads(connection.execute(text("SELECT content FROM iam_entities")).scalar_one())
        del content["groups"], content["boundary"]
        connection.execute(text("UPDATE iam_entities SET content = :content"), {"content": json.dumps(content)})
    assert store.get_entity(EntityKind.USER, KEY.account, "Ana") == plain


def test_audits_who_changed_what(database: Database) -> None:
    store = SqlAccessStore(database, Sealer(bytes(32)))
    with acting(Actor(principal="arn:aws:iam::111122223333:user/eve", client="10.0.0.7")):
        add(store, ROLE)
        store.add(KEY)
        store.set_active(KEY.access_key_id, False)
        store.write_audit("AssumeRole", ROLE.arn, "by somebody")
        store.change_entity(EntityKind.ROLE, KEY.account, "ana", "DeleteRole", lambda _: None)
        store.remove(KEY.access_key_id)
    with database.read() as connection:
        rows = connection.execute(text("SELECT operation, resource, principal, client FROM audit ORDER BY id")).all()
    assert [row.operation for row in rows] == [
        "Create",
        "CreateAccessKey",
        "UpdateAccessKey",
        "AssumeRole",
        "DeleteRole",
        "DeleteAccessKey",
    ]
    assert {row.principal for row in rows} == {"arn:aws:iam::111122223333:user/eve"}
    assert {row.resource for row in rows} == {ROLE.arn, KEY.principal}


def test_the_database_has_no_secret_in_plain_text(database: Database) -> None:
    SqlAccessStore(database, Sealer(bytes(32))).add(KEY)
    with database.read() as connection:
        row = connection.execute(text("SELECT * FROM access_keys")).one()
    assert KEY.secret_access_key.encode() not in row.secret_sealed


def test_another_master_key_decrypts_nothing_and_raises(database: Database) -> None:
    SqlAccessStore(database, Sealer(bytes(32))).add(KEY)
    with pytest.raises(DataProblem, match="is sealed with master key"):
        SqlAccessStore(database, Sealer(b"1" * 32)).get(KEY.access_key_id)


def test_a_secret_moved_to_another_row_cannot_be_decrypted(database: Database) -> None:
    store = SqlAccessStore(database, Sealer(bytes(32)))
    store.add(KEY)
    with database.write() as connection:
        connection.execute(text("UPDATE access_keys SET access_key_id = 'AKIAOTHER'"))
    with pytest.raises(DataProblem, match="AKIAOTHER"):
        store.get("AKIAOTHER")
