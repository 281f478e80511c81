"""Versions added together: the part of the registry store's behaviour suite on writes of many callers at once."""

import threading
from importlib import import_module
from uuid import uuid4

import pytest

from penstock.registry.audit import Actor
from penstock.registry.errors import MissingReference, SchemaIdTaken
from penstock.registry.model import EffectiveSchema, NewVersion, Reference, SchemaKey, ScopeConfig
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.database import Database
from penstock.store.sql.registry import audit as registry_audit
from penstock.store.sql.registry.store import SqlRegistryStore

_SUITE = import_module("tests.unit.store.test_registry_store")
_SHARED = ("registry", "schema", "version", "add", "store", "KEY")
registry, schema, version, add, store, KEY = (getattr(_SUITE, name) for name in _SHARED)

OTHER = SchemaKey("r", "t")
ANNE, BERT = Actor(principal="arn:anne", client="10.0.0.1"), Actor(principal="arn:bert", client="10.0.0.2")


@pytest.fixture
def two_schemas(store):
    """The store with the schemas ``s`` and ``t``, of one version each."""
    store.registries.add(registry(), {}, limit=10)
    for key in (KEY, OTHER):
        store.schemas.add(schema(key, latest=1, next_number=2), version(1, key), {})
    return store


def test_versions_added_together_are_as_those_added_alone(two_schemas):
    wanted = [
        NewVersion(version=version(2), revision=0, actor=ANNE),
        NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT),
    ]
    added = two_schemas.versions.add(wanted)
    assert [item.id for item in added] == [step.version.id for step in wanted]
    assert added[1].schema_id == added[0].schema_id + 1
    for step, item in zip(wanted, added, strict=True):
        assert two_schemas.versions.get(step.version.id) == item
        assert two_schemas.schemas.get(step.version.key).latest == 2
    entries = two_schemas.audit.list(None, 2, resource=None)
    assert [(entry.resource, entry.principal, entry.client) for entry in entries] == [
        ("schema/r/t", "arn:bert", "10.0.0.2"),
        ("schema/r/s", "arn:anne", "10.0.0.1"),
    ]


def test_one_decided_on_an_old_revision_does_not_hold_up_the_others(two_schemas):
    late = NewVersion(version=version(2), revision=7, actor=ANNE)
    good = NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT)
    added = two_schemas.versions.add([late, good])
    assert added[0] is None
    assert two_schemas.versions.get(good.version.id) == added[1] is not None
    assert two_schemas.versions.get(late.version.id) is None


@pytest.mark.parametrize(
    ("broken", "outcome"),
    [
        ({"schema_id": 1, "fingerprint": "e" * 64}, SchemaIdTaken),  # another definition's
        ({"fingerprint": f"{1:064}"}, type(None)),  # there already
        ({"references": (Reference(name="x", registry="r", schema="gone", number=1),)}, MissingReference),
    ],
    ids=["schema id", "definition", "reference"],
)
def test_one_that_cannot_be_added_leaves_no_trace(two_schemas, broken, outcome):
    bad = NewVersion(version=version(2, **broken), revision=0, actor=ANNE)
    good = NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT)
    added = two_schemas.versions.add([good, bad])
    assert type(added[1]) is outcome
    # Undone with the other one, or there: what it says is what is stored.
    assert two_schemas.versions.get(good.version.id) == added[0]
    untouched = two_schemas.schemas.get(KEY)
    assert (untouched.latest, untouched.revision) == (1, 0)
    assert [head.number for head in two_schemas.versions.list(KEY, None, 10)] == [1]
    assert not any(entry.principal == "arn:anne" for entry in two_schemas.audit.list(None, 10, resource=None))


def test_many_groups_on_one_schema_lose_and_double_nothing(two_schemas):
    threads_count, rounds = 6, 5
    barrier, done = threading.Barrier(threads_count), []

    def write(writer):
        barrier.wait()
        for turn in range(rounds):
            key = SchemaKey("r", f"own-{writer}-{turn}")
            two_schemas.schemas.add(schema(key), None, {})
            mine = version(1, key, fingerprint=uuid4().hex * 2)
            shared = version(2, fingerprint=uuid4().hex * 2)
            steps = [NewVersion(version=item, revision=0, actor=ANNE) for item in (mine, shared)]
            done.extend(item for item in two_schemas.versions.add(steps) if item is not None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([item for item in done if item.key == KEY]) == 1
    assert len({item.schema_id for item in done}) == len(done)
    assert all(two_schemas.versions.get(item.id) == item for item in done)


def test_calls_of_one_session_see_each_other(two_schemas):
    with two_schemas.versions.session(), two_schemas.versions.session():
        added = add(two_schemas, version(2), revision=0)
        assert two_schemas.versions.get(added.id) == added
        assert two_schemas.schemas.get(KEY).latest == 2
    assert two_schemas.schemas.get(KEY).latest == 2


def test_one_definition_of_two_schemas_has_one_schema_id_and_leaves_no_gap(two_schemas):
    third = SchemaKey("r", "u")
    two_schemas.schemas.add(schema(third), None, {})
    same = {"fingerprint": "e" * 64}
    wanted = [version(2, **same), version(2, OTHER, **same), version(1, third, fingerprint="f" * 64)]
    added = two_schemas.versions.add([NewVersion(version=item, revision=0, actor=ANNE) for item in wanted])
    assert [item.schema_id - added[0].schema_id for item in added] == [0, 0, 1]
    known = add(two_schemas, version(3, fingerprint="f" * 64), revision=1)
    assert known.schema_id == added[2].schema_id
    assert add(two_schemas, version(4), revision=2).schema_id == known.schema_id + 1


@pytest.mark.parametrize("tags", [{}, {"team": "x", "a": "b"}], ids=["bare", "tagged"])
def test_a_schema_stands_with_its_tags_and_what_the_nearest_policies_say(store, tags):
    assert store.versions.get_effective_schema(KEY) is None
    store.registries.add(registry(), {}, limit=10)
    store.schemas.add(schema(), None, tags)
    assert store.versions.get_effective_schema(KEY) == EffectiveSchema(schema=schema(), mode=None, inherited=None, tags=tags)
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
        store.configs.change(policy.scope, lambda _, policy=policy: policy)
        effective = store.versions.get_effective_schema(KEY)
        assert (effective.mode, effective.inherited) == (mode, inherited)


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'penstock.db'}")
    made.create_all()
    yield made
    made.close()


def test_old_records_are_dropped_also_where_several_come_at_once(database, monkeypatch):
    monkeypatch.setattr(registry_audit, "_PRUNE_EVERY", 5)
    monkeypatch.setattr(registry_audit, "MAX_AUDIT_ENTRIES", 3)
    store = SqlRegistryStore(database)
    store.registries.add(registry(), {}, limit=10)
    keys = [SchemaKey("r", name) for name in "abc"]
    for key in keys:
        store.schemas.add(schema(key), None, {})
    assert [entry.number for entry in store.audit.list(None, 10, resource=None)] == [4, 3, 2, 1]
    store.versions.add([NewVersion(version=version(1, key), revision=0, actor=ANNE) for key in keys])
    assert [entry.number for entry in store.audit.list(None, 10, resource=None)] == [7, 6, 5, 4, 3]


def test_versions_read_after_a_schema_are_no_older_than_it(database):
    mine, other = SqlRegistryStore(database), SqlRegistryStore(database)
    mine.registries.add(registry(), {}, limit=10)
    first = mine.schemas.add(schema(latest=1, next_number=2), version(1), {})
    with mine.versions.session():
        assert mine.versions.get(first.id) == first
        other.schemas.delete(KEY)
        assert mine.versions.get_effective_schema(KEY) is None
        assert mine.versions.get(first.id) is None


def test_sessions_of_many_threads_do_not_wait_for_each_others_connections(database):
    store = SqlRegistryStore(database)
    store.registries.add(registry(), {}, limit=10)
    first = store.schemas.add(schema(latest=1, next_number=2), version(1), {})
    count = 20  # more than the connections that a pool of SQLAlchemy's has by itself
    barrier, found, wrong = threading.Barrier(count), [], []

    def read():
        try:
            with store.versions.session():
                barrier.wait()
                # One over the session's own connection, one over another.
                found.extend((store.versions.get_numbered(KEY, 1).id, store.versions.list(KEY, None, 10)[0].id))
        except Exception as error:  # noqa: BLE001 -- the assertion below shows it
            barrier.abort()
            wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert found == [first.id] * 2 * count
