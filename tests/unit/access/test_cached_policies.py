"""The authorizer's cache of policies: bounded, however many sessions one caller has."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access import authorize
from penstock.access.authorize import Authorizer
from penstock.access.context_keys import Origin
from penstock.access.entities import EntityKind, Group, Role, User
from penstock.access.principals import Caller, SessionContext, session_arn
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

A = "111122223333"
TRUST = json.dumps({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}})


def session(issued: int) -> Caller:
    """Return a session of one role with one name, as a program creates one after the other."""
    facts = SessionContext(issued=issued, expires=issued + 900, role=f"arn:aws:iam::{A}:role/reader", session_name="job")
    return Caller(account=A, principal=session_arn(A, "reader", "job"), user_id="AROAX:job", session=facts)


@pytest.fixture
def store() -> SqlAccessStore:
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    role = Role(account=A, name="reader", id="AROAX", created=datetime.now(UTC), trust=TRUST)
    store.add_entity(role, "CreateRole", limit=10)
    return store


def test_sessions_of_one_name_are_cached_separately() -> None:
    assert len({hash(session(issued)) for issued in range(100)}) == 100
    assert hash(session(7)) == hash(session(7))


def test_stale_and_then_least_recently_used_entries_are_evicted(
    store: SqlAccessStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(authorize, "_MAX_CACHED", 3)
    authorizer = Authorizer(store, ttl=5.0, clock=lambda: now)
    authorizer.fetch(session(1))
    now = 4.0
    kept: Any = [authorizer.fetch(session(issued)) for issued in (2, 3)]
    now = 6.0
    authorizer.fetch(session(4))
    assert authorizer.fresh(session(1)) is None
    assert [authorizer.fresh(session(issued)) for issued in (2, 3)] == kept
    authorizer.fetch(session(5))
    assert authorizer.fresh(session(5)) is not None
    assert authorizer.fresh(session(4)) is None
    assert [authorizer.fresh(session(issued)) for issued in (2, 3)] == kept


READING = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "glue:Get*", "Resource": "*"}})
ANA = Caller(account=A, principal=f"arn:aws:iam::{A}:user/ana", user_id="AIDAANA")


def changed(**fields: Any) -> Callable[[Any], Any]:
    return lambda item: replace(item, **fields)


def allowed(authorizer: Authorizer) -> bool:
    resource = f"arn:aws:glue:us-east-1:{A}:registry/streams"
    return authorizer.decide(ANA, "glue:GetRegistry", resource, Origin(), owner=A).allowed


def test_changes_by_another_server_take_effect_within_the_ttl() -> None:
    now, store, created = 0.0, SqlAccessStore(new_database(), Sealer(bytes(32))), datetime.now(UTC)
    user = User(account=A, name="ana", id="AIDAANA", created=created, groups=("readers", "gone"))
    group = Group(account=A, name="readers", id="AGPAX", created=created, inline={"read": READING})
    store.add_entity(user, "CreateUser", limit=10)
    store.add_entity(group, "CreateGroup", limit=10)
    authorizer = Authorizer(store, ttl=5.0, clock=lambda: now)
    assert allowed(authorizer)
    store.change_entity(EntityKind.USER, A, "ana", "Put", changed(boundary=f"arn:aws:iam::{A}:policy/none"))
    assert allowed(authorizer)
    now = 5.0
    assert not allowed(authorizer)  # a boundary that does not exist allows nothing
    store.change_entity(EntityKind.USER, A, "ana", "Delete", changed(boundary=None))
    now = 10.0
    assert allowed(authorizer)
    store.change_entity(EntityKind.GROUP, A, "readers", "Delete", changed(inline={}))
    now = 15.0
    assert not allowed(authorizer)
