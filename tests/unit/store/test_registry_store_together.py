"""Versions added together: the part of the registry store's behaviour suite on writes of many callers at once."""

import threading
from importlib import import_module
from uuid import uuid4

import pytest

from penstock.registry.audit import Actor
from penstock.registry.model import EffectiveSchema, NewVersion, Reference, SchemaKey, ScopeConfig
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.database import Database
from penstock.store.sql.registry import base as registry_base
from penstock.store.sql.registry.store import SqlRegistryStore

_SUITE = import_module("tests.unit.store.test_registry_store")
registry, schema, version, store, KEY = (getattr(_SUITE, name) for name in ("registry", "schema", "version", "store", "KEY"))

OTHER = SchemaKey("r", "t")
ANNE, BERT = Actor(principal="arn:anne", client="10.0.0.1"), Actor(principal="arn:bert", client="10.0.0.2")


@pytest.fixture
def two_schemas(store):
    """The store with the schemas ``s`` and ``t``, of one version each."""
    store.add_registry(registry(), {}, limit=10)
    for key in (KEY, OTHER):
        store.add_schema(schema(key, latest=1, next_number=2), version(1, key), {})
    return store


def test_versions_added_together_are_as_those_added_alone(two_schemas):
    wanted = [
        NewVersion(version=version(2), revision=0, actor=ANNE),
        NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT),
    ]
    added = two_schemas.add_versions(wanted)
    assert [item.id for item in added] == [step.version.id for step in wanted]
    assert added[1].schema_id == added[0].schema_id + 1
    for step, item in zip(wanted, added, strict=True):
        assert two_schemas.get_version(step.version.id) == item
        assert two_schemas.get_schema(step.version.key).latest == 2
    entries = two_schemas.list_audit(None, 2, resource=None)
    assert [(entry.resource, entry.principal, entry.client) for entry in entries] == [
        ("schema/r/t", "arn:bert", "10.0.0.2"),
        ("schema/r/s", "arn:anne", "10.0.0.1"),
    ]


def test_one_decided_on_an_old_revision_does_not_hold_up_the_others(two_schemas):
    late = NewVersion(version=version(2), revision=7, actor=ANNE)
    good = NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT)
    added = two_schemas.add_versions([late, good])
    assert added[0] is None
    assert two_schemas.get_version(good.version.id) == added[1] is not None
    assert two_schemas.get_version(late.version.id) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"schema_id": 1, "fingerprint": "e" * 64},  # another definition's
        {"fingerprint": f"{1:064}"},  # there already
        {"references": (Reference(name="x", registry="r", schema="gone", number=1),)},
    ],
    ids=["schema id", "definition", "reference"],
)
def test_one_that_cannot_be_added_leaves_no_trace(two_schemas, broken):
    bad = NewVersion(version=version(2, **broken), revision=0, actor=ANNE)
    good = NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT)
    added = two_schemas.add_versions([good, bad])
    assert added[1] is None
    # Undone with the other one, or there: what it says is what is stored.
    assert two_schemas.get_version(good.version.id) == added[0]
    untouched = two_schemas.get_schema(KEY)
    assert (untouched.latest, untouched.revision) == (1, 0)
    assert [head.number for head in two_schemas.list_versions(KEY, None, 10)] == [1]
    assert not any(entry.principal == "arn:anne" for entry in two_schemas.list_audit(None, 10, resource=None))


def test_many_groups_on_one_schema_lose_and_double_nothing(two_schemas):
    threads_count, rounds = 6, 5
    barrier, done = threading.Barrier(threads_count), []

    def write(writer):
        barrier.wait()
        for turn in range(rounds):
            key = SchemaKey("r", f"own-{writer}-{turn}")
            two_schemas.add_schema(schema(key), None, {})
            mine = version(1, key, fingerprint=uuid4().hex * 2)
            shared = version(2, fingerprint=uuid4().hex * 2)
            steps = [NewVersion(version=item, revision=0, actor=ANNE) for item in (mine, shared)]
            done.extend(item for item in two_schemas.add_versions(steps) if item is not None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([item for item in done if item.key == KEY]) == 1
    assert len({item.schema_id for item in done}) == len(done)
    assert all(two_schemas.get_version(item.id) == item for item in done)


def test_calls_of_one_session_see_each_other(two_schemas):
    with two_schemas.session(), two_schemas.session():
        added = two_schemas.add_version(version(2), revision=0, replaces=None)
        assert two_schemas.get_version(added.id) == added
        assert two_schemas.get_schema(KEY).latest == 2
    assert two_schemas.get_schema(KEY).latest == 2


def test_one_definition_of_two_schemas_has_one_schema_id_and_leaves_no_gap(two_schemas):
    third = SchemaKey("r", "u")
    two_schemas.add_schema(schema(third), None, {})
    same = {"fingerprint": "e" * 64}
    wanted = [version(2, **same), version(2, OTHER, **same), version(1, third, fingerprint="f" * 64)]
    added = two_schemas.add_versions([NewVersion(version=item, revision=0, actor=ANNE) for item in wanted])
    assert [item.schema_id - added[0].schema_id for item in added] == [0, 0, 1]
    known = two_schemas.add_version(version(3, fingerprint="f" * 64), revision=1, replaces=None)
    assert known.schema_id == added[2].schema_id
    assert two_schemas.add_version(version(4), revision=2, replaces=None).schema_id == known.schema_id + 1


@pytest.mark.parametrize("tags", [{}, {"team": "x", "a": "b"}], ids=["bare", "tagged"])
def test_a_schema_stands_with_its_tags_and_what_the_nearest_policies_say(store, tags):
    assert store.get_effective_schema(KEY) is None
    store.add_registry(registry(), {}, limit=10)
    store.add_schema(schema(), None, tags)
    assert store.get_effective_schema(KEY) == EffectiveSchema(schema=schema(), mode=None, inherited=None, tags=tags)
    full, none = CompatibilityMode.FULL, CompatibilityMode.NONE
    for policy, mode, inherited in (
        (ScopeConfig(scope="", mode="IMPORT", compatibility=full), "IMPORT", full),
        (ScopeConfig(scope="registry/r", compatibility=none), "IMPORT", none),
        (ScopeConfig(scope="schema/r/s", mode="READONLY"), "READONLY", none),
        (ScopeConfig(scope="schema/r/other", mode="READWRITE", compatibility=full), "READONLY", none),
        (ScopeConfig(scope="schema/r/s", mode="READONLY_OVERRIDE"), "READONLY_OVERRIDE", none),
        (ScopeConfig(scope="schema/r/s", mode="READWRITE"), "READWRITE", none),
        (ScopeConfig(scope="", mode="READONLY_OVERRIDE", compatibility=full), "READONLY_OVERRIDE", none),
    ):
        store.change_config(policy.scope, lambda _, policy=policy: policy)
        effective = store.get_effective_schema(KEY)
        assert (effective.mode, effective.inherited) == (mode, inherited)


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'penstock.db'}")
    made.create_all()
    yield made
    made.close()


def test_old_records_are_dropped_also_where_several_come_at_once(database, monkeypatch):
    monkeypatch.setattr(registry_base, "_PRUNE_EVERY", 5)
    monkeypatch.setattr(registry_base, "MAX_AUDIT_ENTRIES", 3)
    store = SqlRegistryStore(database)
    store.add_registry(registry(), {}, limit=10)
    keys = [SchemaKey("r", name) for name in "abc"]
    for key in keys:
        store.add_schema(schema(key), None, {})
    assert [entry.number for entry in store.list_audit(None, 10, resource=None)] == [4, 3, 2, 1]
    store.add_versions([NewVersion(version=version(1, key), revision=0, actor=ANNE) for key in keys])
    assert [entry.number for entry in store.list_audit(None, 10, resource=None)] == [7, 6, 5, 4, 3]


def test_versions_read_after_a_schema_are_no_older_than_it(database):
    mine, other = SqlRegistryStore(database), SqlRegistryStore(database)
    mine.add_registry(registry(), {}, limit=10)
    first = mine.add_schema(schema(latest=1, next_number=2), version(1), {})
    with mine.session():
        assert mine.get_version(first.id) == first
        other.delete_schema(KEY)
        assert mine.get_effective_schema(KEY) is None
        assert mine.get_version(first.id) is None
