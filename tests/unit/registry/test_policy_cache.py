"""Resource policies as decisions use them: kept for their time, and forgotten at once where this process changes them."""

import json
from datetime import UTC, datetime

import pytest

from penstock.registry.model import ResourcePolicy
from penstock.registry.policies.resources import CATALOG, PolicyCache
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database

TEXT = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": {"Effect": "Allow", "Principal": "*", "Action": "glue:Get*", "Resource": "*"},
    }
)


@pytest.fixture
def store() -> SqlRegistryStore:
    return SqlRegistryStore(new_database())


def put(store: SqlRegistryStore) -> None:
    now = datetime.now(UTC)
    policy = ResourcePolicy(resource=CATALOG, text=TEXT, hash="1", created=now, updated=now)
    store.resource_policies.put(policy, lambda _stored: None)


def test_what_another_process_changes_holds_after_the_time(store: SqlRegistryStore) -> None:
    now = 0.0
    cache = PolicyCache(store.resource_policies, ttl=5.0, clock=lambda: now)
    fresh = [cache.is_fresh]
    assert cache.of("schema/r/s") is None
    fresh.append(cache.is_fresh)
    assert fresh == [False, True]  # that there is none is known, too
    put(store)
    now = 4.9
    assert cache.of("schema/r/s") is None
    now = 5.0
    assert not cache.is_fresh
    assert cache.of("schema/r/s") is not None


def test_what_this_process_changes_holds_at_once(store: SqlRegistryStore) -> None:
    cache = PolicyCache(store.resource_policies)
    assert cache.of(CATALOG) is None
    put(store)
    cache.forget()
    assert not cache.is_fresh
    assert cache.of(CATALOG) is not None
