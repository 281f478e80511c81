"""What the authorizer keeps of callers: bounded, whatever number of sessions one caller begins."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access import authorize
from penstock.access.authorize import Authorizer
from penstock.access.entities import Role
from penstock.access.principals import Caller, SessionFacts, session_arn
from penstock.store.memory.access import MemoryAccessStore

A = "111122223333"
TRUST = json.dumps({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}})


def session(issued: int) -> Caller:
    """A session of one role, under one name, as a program begins them one after the other."""
    facts = SessionFacts(issued=issued, expires=issued + 900, role=f"arn:aws:iam::{A}:role/reader", session_name="job")
    return Caller(account=A, principal=session_arn(A, "reader", "job"), user_id="AROAX:job", session=facts)


@pytest.fixture
def store() -> MemoryAccessStore:
    store = MemoryAccessStore()
    role = Role(account=A, name="reader", id="AROAX", created=datetime.now(UTC), trust=TRUST)
    store.add_entity(role, "CreateRole", limit=10)
    return store


def test_sessions_of_one_name_are_found_each_at_its_own_place() -> None:
    assert len({hash(session(issued)) for issued in range(100)}) == 100
    assert hash(session(7)) == hash(session(7))


def test_what_is_stale_makes_room_for_the_next(store: MemoryAccessStore, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(authorize, "_MAX_KEPT", 3)
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
    assert authorizer.fresh(session(2)) is None
