"""One behaviour suite for every implementation of the registry's store."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from penstock.registry.audit import Actor, acting
from penstock.registry.errors import (
    MetadataExists,
    MissingReference,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
    SchemaIdTaken,
    VersionNotFound,
    VersionReferenced,
)
from penstock.registry.model import Metadata, Reference, Registry, Schema, SchemaKey, ScopeConfig, Version
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.schema.incompatibility import Incompatibility
from penstock.store.memory.registry import MemoryRegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore

NOW = datetime(2026, 11, 21, 10, 30, 0, 123456, tzinfo=UTC)
LATER = datetime(2026, 11, 22, tzinfo=UTC)
KEY = SchemaKey("r", "s")
VERDICT = CompatibilityVerdict(
    mode=CompatibilityMode.FULL,
    checked=(1,),
    conflicts=(
        Conflict(
            version=1,
            direction="FORWARD",
            incompatibility=Incompatibility(path="/a", rule="TYPE_MISMATCH", reader="int", writer="long", message="no."),
        ),
    ),
)


@pytest.fixture(params=["memory", "sqlite", "sqlite in memory"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryRegistryStore()
        return
    database = Database("sqlite://" if "memory" in request.param else f"sqlite:///{tmp_path / 'penstock.db'}")
    database.create_all()
    yield SqlRegistryStore(database)
    database.close()


def registry(name="r"):
    return Registry(name=name, description=None, created=NOW, updated=NOW)


def schema(key=KEY, **more):
    mode = CompatibilityMode.BACKWARD
    return Schema(key=key, data_format="AVRO", compatibility=mode, description="d", created=NOW, updated=NOW, **more)


def version(number, key=KEY, **more):
    values = {"status": "AVAILABLE", "fingerprint": f"{number:064}", "definition": f'"{number}"', **more}
    return Version(id=str(uuid4()), key=key, number=number, data_format="AVRO", created=NOW, **values)


@pytest.fixture
def stored(store):
    """The store with registry ``r`` and schema ``s`` of one version, and that version."""
    store.add_registry(registry(), {}, limit=10)
    first = store.add_schema(schema(latest=1, next_number=2), version(1), {})
    return store, first


def test_registries(store):
    for name in ("b", "a", "C"):
        store.add_registry(registry(name), {"k": name}, limit=3)
    with pytest.raises(RegistryExists):
        store.add_registry(registry("a"), {}, limit=10)
    with pytest.raises(RegistryFull):
        store.add_registry(registry("d"), {}, limit=3)
    assert [item.name for item in store.list_registries(None, 10)] == ["C", "a", "b"]
    assert [item.name for item in store.list_registries("C", 1)] == ["a"]
    assert store.get_registry("a") == registry("a")
    assert store.update_registry("a", "new", LATER)
    assert store.get_registry("a") == replace(registry("a"), description="new", updated=LATER)
    assert not store.update_registry("x", "new", LATER)
    assert store.get_registry("x") is None


def test_deleting_a_registry_takes_all_it_holds_and_nothing_else(stored):
    store, first = stored
    other = SchemaKey("R", "s")
    store.add_registry(registry("R"), {}, limit=10)
    store.add_schema(schema(other), None, {"keep": "me"})
    store.add_tags("schema/r/s", {"k": "v"}, limit=5)
    store.get_version(first.id)
    assert store.delete_registry("r")
    assert not store.delete_registry("r")
    assert store.get_schema(KEY) is None
    assert store.get_version(first.id) is None
    assert store.find_version(KEY, first.fingerprint) is None
    assert store.get_tags("schema/r/s") == {}
    assert store.get_tags("schema/R/s") == {"keep": "me"}
    assert store.get_schema(other) is not None


def test_schemas(stored):
    store, _ = stored
    with pytest.raises(SchemaExists):
        store.add_schema(schema(), None, {})
    with pytest.raises(RegistryNotFound):
        store.add_schema(schema(SchemaKey("x", "s")), None, {})
    assert store.get_schema(KEY) == schema(latest=1, next_number=2)
    assert store.get_schema(SchemaKey("r", "x")) is None
    store.add_registry(registry("q"), {}, limit=10)
    for key in (SchemaKey("q", "z"), SchemaKey("r", "a")):
        store.add_schema(schema(key), None, {})
    assert [item.key for item in store.list_schemas(None, None, 10)] == [("q", "z"), ("r", "a"), ("r", "s")]
    assert [item.key for item in store.list_schemas(None, SchemaKey("q", "z"), 1)] == [("r", "a")]
    assert [item.key for item in store.list_schemas("r", SchemaKey("r", "a"), 10)] == [("r", "s")]


def test_a_schema_with_a_taken_name_leaves_no_trace(stored):
    store, _ = stored
    second = version(1)
    with pytest.raises(SchemaExists):
        store.add_schema(schema(), second, {"k": "v"})
    assert store.get_version(second.id) is None
    assert store.get_tags("schema/r/s") == {}


def test_updates_need_the_revision_they_were_decided_on(stored):
    store, _ = stored
    old = store.get_schema(KEY)
    changed = replace(old, compatibility=CompatibilityMode.FULL_ALL, checkpoint=1, description="e", updated=LATER)
    assert store.update_schema(changed)
    assert store.get_schema(KEY) == replace(changed, revision=old.revision + 1)
    assert not store.update_schema(changed)
    assert not store.update_schema(replace(changed, key=SchemaKey("r", "x")))


def test_versions_are_found_by_id_number_and_fingerprint(stored):
    store, first = stored
    for _ in range(2):
        assert store.get_version(first.id) == first
        assert store.get_version_numbered(KEY, 1) == first
        assert store.find_version(KEY, first.fingerprint) == first
    assert store.get_version(str(uuid4())) is None
    assert store.get_version_numbered(KEY, 2) is None
    assert store.find_version(KEY, "0" * 64) is None
    assert store.find_version(SchemaKey("r", "x"), first.fingerprint) is None


def test_adding_versions(stored):
    store, first = stored
    before = store.get_schema(KEY)
    second = store.add_version(version(2), revision=before.revision, replaces=None)
    after = store.get_schema(KEY)
    assert (after.latest, after.next_number) == (2, 3)
    assert after.revision != before.revision
    assert not store.add_version(version(3), revision=before.revision, replaces=None)
    assert not store.add_version(version(2), revision=after.revision, replaces=None)
    assert not store.add_version(version(3, fingerprint=first.fingerprint), revision=after.revision, replaces=None)
    assert store.get_schema(KEY) == after
    assert [head.number for head in store.list_versions(KEY, None, 10)] == [1, 2]
    assert [head.id for head in store.list_versions(KEY, 1, 10)] == [second.id]
    assert len(store.list_versions(KEY, None, 1)) == 1


def test_refused_versions_keep_their_verdict_and_can_be_replaced(stored):
    store, _ = stored
    refused = store.add_version(version(2, status="FAILURE", verdict=VERDICT), revision=0, replaces=None)
    assert store.get_schema(KEY).latest == 1
    assert store.get_version(refused.id) == refused
    assert store.find_version(KEY, refused.fingerprint).verdict == VERDICT
    accepted = store.add_version(version(3, fingerprint=refused.fingerprint), revision=1, replaces=refused.id)
    assert accepted.schema_id == refused.schema_id
    assert store.get_version(refused.id) is None
    assert store.get_version_numbered(KEY, 2) is None
    assert store.find_version(KEY, refused.fingerprint) == accepted


def test_deleting_versions(stored):
    store, first = stored
    added = []
    for revision, number in enumerate((2, 3, 4)):
        added.append(store.add_version(version(number), revision=revision, replaces=None))
        store.get_version(added[-1].id)
    assert store.delete_versions(KEY, range(3, 9), LATER, revision=2) is None
    assert store.delete_versions(KEY, range(3, 9), LATER, revision=3) == [3, 4]
    assert [store.get_version(item.id) for item in added] == [added[0], None, None]
    assert (store.get_schema(KEY).latest, store.get_schema(KEY).next_number) == (2, 5)
    assert store.delete_versions(KEY, range(2, 3), LATER, revision=4) == [2]
    assert store.get_schema(KEY).latest == 1
    assert store.delete_versions(KEY, range(2, 3), LATER, revision=5) == []
    assert store.get_version(first.id) == first


def test_deleting_a_schema(stored):
    store, first = stored
    store.put_metadata(first.id, Metadata(key="k", value="v", created=NOW), limit=10)
    store.get_version(first.id)
    assert store.delete_schema(KEY)
    assert not store.delete_schema(KEY)
    assert store.get_version(first.id) is None
    assert store.list_versions(KEY, None, 10) == []
    assert store.list_metadata(first.id) == []
    again = store.add_schema(schema(latest=1, next_number=2), version(1, definition='"again"'), {})
    assert store.get_version_numbered(KEY, 1) == again
    assert store.find_version(KEY, again.fingerprint) == again


def test_metadata(stored):
    store, first = stored
    pairs = [Metadata(key=key, value=value, created=NOW) for key, value in (("b", "2"), ("a", "9"), ("a", "1"))]
    for pair in pairs:
        store.put_metadata(first.id, pair, limit=3)
    with pytest.raises(MetadataExists):
        store.put_metadata(first.id, pairs[0], limit=10)
    with pytest.raises(RegistryFull):
        store.put_metadata(first.id, Metadata(key="c", value="1", created=NOW), limit=3)
    with pytest.raises(VersionNotFound):
        store.put_metadata(str(uuid4()), pairs[0], limit=3)
    assert store.list_metadata(first.id) == [pairs[1], pairs[2], pairs[0]]
    assert store.remove_metadata(first.id, "a", "9")
    assert not store.remove_metadata(first.id, "a", "9")
    assert store.list_metadata(first.id) == [pairs[2], pairs[0]]


def test_tags(stored):
    store, _ = stored
    store.add_tags("registry/r", {"b": "1", "a": "2"}, limit=2)
    store.add_tags("registry/r", {"b": "3"}, limit=2)
    with pytest.raises(RegistryFull):
        store.add_tags("registry/r", {"c": "3"}, limit=2)
    assert store.get_tags("registry/r") == {"a": "2", "b": "3"}
    store.remove_tags("registry/r", ["a", "zz"])
    assert store.get_tags("registry/r") == {"b": "3"}
    assert store.get_tags("registry/other") == {}


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
def test_one_of_many_writers_on_one_revision_wins(stored):
    store, _ = stored
    barrier, won = threading.Barrier(8), []

    def write(number):
        candidate = version(2, fingerprint=f"{number:064}")
        barrier.wait()
        won.append(store.add_version(candidate, revision=0, replaces=None) is not None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(100, 108)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def two_stores(databases):
    """A store on each of ``databases``, which are one, and the only version they hold."""
    stores = [SqlRegistryStore(database) for database in databases]
    stores[0].add_registry(registry(), {}, limit=10)
    return stores, stores[0].add_schema(schema(latest=1, next_number=2), version(1), {})


@pytest.fixture
def pair(tmp_path):
    databases = [Database(f"sqlite:///{tmp_path / 'penstock.db'}") for _ in range(2)]
    databases[0].create_all()
    yield two_stores(databases)
    for database in databases:
        database.close()


class TestTwoProcesses:
    """Two stores on one database stand for two processes: each has its own connections and its own cache."""

    def test_a_deletion_by_the_other_is_seen_at_once(self, pair):
        (one, two), first = pair
        assert two.get_version(first.id) == first
        assert one.delete_schema(KEY)
        assert two.get_version(first.id) is None
        assert two.find_version(KEY, first.fingerprint) is None

    def test_registrations_by_the_other_leave_the_cache_alone(self, pair, monkeypatch):
        (one, two), first = pair
        assert two.get_version(first.id) is two.get_version(first.id)
        kept = two.get_version(first.id)
        assert one.add_version(version(2), revision=0, replaces=None)
        assert two.get_version(first.id) is kept
        assert one.delete_versions(KEY, range(2, 3), LATER, revision=1) == [2]
        assert two.get_version(first.id) is not kept
        assert two.get_version(first.id) == first

    def test_a_body_read_before_a_deletion_is_not_kept_after_it(self, pair):
        (one, two), first = pair
        stamp = two._cache.stamp()
        assert one.delete_schema(KEY)
        two._cache.stamp()
        two._cache.put(first.id, first, stamp)
        assert two.get_version(first.id) is None


class TestSchemaIds:
    """One number for one definition in one registry."""

    def test_a_definition_has_one_in_a_registry_and_another_in_the_next(self, stored):
        store, first = stored
        other, elsewhere = SchemaKey("r", "t"), SchemaKey("q", "s")
        store.add_registry(registry("q"), {}, limit=10)
        same = version(1, other, fingerprint=first.fingerprint)
        assert store.add_schema(schema(other, latest=1, next_number=2), same, {}).schema_id == first.schema_id
        apart = version(1, elsewhere, fingerprint=first.fingerprint)
        apart = store.add_schema(schema(elsewhere, latest=1, next_number=2), apart, {})
        assert apart.schema_id > first.schema_id
        assert store.get_version(apart.id) == apart
        assert [head.key for head in store.list_versions_with_schema_id("r", first.schema_id)] == [KEY, other]
        assert store.list_versions_with_schema_id("q", first.schema_id) == []
        assert store.get_version_with_schema_id("q", apart.schema_id) == apart
        assert store.get_version_with_schema_id("r", apart.schema_id) is None

    def test_a_deleted_definition_keeps_it(self, stored):
        store, first = stored
        second = store.add_version(version(2), revision=0, replaces=None)
        store.delete_versions(KEY, [2], LATER, revision=1)
        third = store.add_version(version(3), revision=2, replaces=None)
        again = store.add_version(version(4, fingerprint=second.fingerprint), revision=3, replaces=None)
        assert len({first.schema_id, second.schema_id, third.schema_id}) == 3
        assert again.schema_id == second.schema_id

    def test_imports_bring_their_own(self, stored):
        store, first = stored
        imported = store.add_version(version(20, schema_id=500), revision=0, replaces=None)
        assert (imported.schema_id, imported.number) == (500, 20)
        assert (store.get_schema(KEY).latest, store.get_schema(KEY).next_number) == (20, 21)
        below = store.add_version(version(7, schema_id=77), revision=1, replaces=None)
        assert below.schema_id == 77
        assert (store.get_schema(KEY).latest, store.get_schema(KEY).next_number) == (20, 21)
        assert store.add_version(version(21), revision=2, replaces=None).schema_id == 501
        for number, schema_id in ((40, 500), (41, first.schema_id)):
            with pytest.raises(SchemaIdTaken):
                store.add_version(version(number, schema_id=schema_id), revision=3, replaces=None)
        other = SchemaKey("r", "t")
        with pytest.raises(SchemaIdTaken, match="has id"):
            store.add_schema(schema(other), version(1, other, fingerprint=first.fingerprint, schema_id=900), {})
        assert store.get_schema(other) is None
        assert store.get_schema(KEY).revision == 3

    def test_one_that_nothing_bears_any_more_is_free_for_an_import(self, stored):
        store, _ = stored
        gone = store.add_version(version(2), revision=0, replaces=None)
        store.delete_versions(KEY, [2], LATER, revision=1)
        taken = store.add_version(version(3, schema_id=gone.schema_id), revision=2, replaces=None)
        assert taken.schema_id == gone.schema_id
        again = store.add_version(version(4, fingerprint=gone.fingerprint), revision=3, replaces=None)
        assert again.schema_id not in {gone.schema_id, 0}


class TestSoftDeletion:
    @pytest.fixture
    def deleted(self, stored):
        """The store whose version 2 of two is deleted softly, and that version before it was."""
        store, _ = stored
        second = store.add_version(version(2), revision=0, replaces=None)
        store.get_version(second.id)
        assert store.soft_delete_versions(KEY, [2, 9], LATER, revision=7) is None
        assert store.soft_delete_versions(KEY, [2, 9], LATER, revision=1) == [2]
        return store, second

    def test_it_is_left_out_and_still_read(self, deleted):
        store, second = deleted
        marked = replace(second, deleted=LATER)
        assert (store.get_schema(KEY).latest, store.get_schema(KEY).next_number) == (1, 3)
        assert [head.number for head in store.list_versions(KEY, None, 10)] == [1]
        assert [head.deleted for head in store.list_versions(KEY, None, 10, deleted=True)] == [None, LATER]
        assert store.get_version(second.id) == marked
        assert store.get_version_numbered(KEY, 2) == marked
        assert store.find_version(KEY, second.fingerprint) == marked
        assert store.get_version_with_schema_id("r", second.schema_id) == marked
        assert store.soft_delete_versions(KEY, [2], LATER, revision=2) == []

    def test_a_live_version_with_the_schema_id_goes_before_it(self, deleted):
        store, second = deleted
        other = SchemaKey("r", "t")
        live = store.add_schema(schema(other, latest=1), version(1, other, fingerprint=second.fingerprint), {})
        assert store.get_version_with_schema_id("r", second.schema_id) == live

    def test_it_comes_back_with_its_ids_and_metadata(self, deleted):
        store, second = deleted
        store.put_metadata(second.id, Metadata(key="k", value="v", created=NOW), limit=10)
        wanted = replace(version(3, fingerprint=second.fingerprint), id=second.id)
        back = store.add_version(wanted, revision=2, replaces=second.id)
        assert (back.id, back.schema_id, back.number, back.deleted) == (second.id, second.schema_id, 3, None)
        assert store.get_version(second.id) == back
        assert store.get_version_numbered(KEY, 2) is None
        assert len(store.list_metadata(second.id)) == 1
        assert store.get_schema(KEY).latest == 3

    def test_subjects_are_those_that_hold_something(self, deleted):
        store, _ = deleted
        empty, gone = SchemaKey("r", "S"), SchemaKey("r", "t")
        store.add_schema(schema(empty), None, {})
        store.add_schema(schema(gone, latest=1, next_number=2), version(1, gone), {})
        store.soft_delete_versions(gone, [1], LATER, revision=0)

        def subjects(after=None, count=10, prefix="", registry="r", **wanted):
            return store.list_subjects(registry, prefix, after, count, **wanted)

        assert subjects(live=True, deleted=False) == [KEY]
        assert subjects(live=True, deleted=True) == [KEY, gone]
        assert subjects(live=False, deleted=True, after=KEY) == [gone]
        assert subjects(live=True, deleted=True, prefix="t", registry=None) == [gone]
        assert subjects(live=False, deleted=False) == []


class TestReferences:
    @pytest.fixture
    def referring(self, stored):
        """The store with schema ``t``, whose version refers to version 1 of ``s``, that one, and the target."""
        store, target = stored
        other = SchemaKey("r", "t")
        reference = Reference(name="a.B", registry="r", schema="s", number=1)
        wanted = version(1, other, references=(reference, replace(reference, name="c")), fingerprint="f" * 64)
        return store, store.add_schema(schema(other, latest=1, next_number=2), wanted, {}), target

    def test_they_are_kept_and_found_backwards(self, referring):
        store, referrer, target = referring
        assert store.get_version(referrer.id) == referrer
        assert [head.id for head in store.referencing(target.id)] == [referrer.id]
        assert store.referencing(referrer.id) == []

    def test_what_they_name_has_to_be_there(self, stored):
        store, _ = stored
        missing = Reference(name="x", registry="r", schema="s", number=9)
        with pytest.raises(MissingReference):
            store.add_version(version(2, references=(missing,)), revision=0, replaces=None)
        assert store.get_schema(KEY).revision == 0

    def test_what_is_referred_to_stays(self, referring):
        store, referrer, target = referring
        for delete in (
            lambda: store.delete_versions(KEY, [1], LATER, revision=0),
            lambda: store.soft_delete_versions(KEY, [1], LATER, revision=0),
            lambda: store.delete_schema(KEY),
        ):
            with pytest.raises(VersionReferenced) as refused:
                delete()
            assert [head.id for head in refused.value.referrers] == [referrer.id]
        assert store.get_version(target.id) == target
        assert store.soft_delete_versions(referrer.key, [1], LATER, revision=0) == [1]
        assert store.soft_delete_versions(KEY, [1], LATER, revision=0) == [1]
        with pytest.raises(VersionReferenced):
            store.delete_versions(KEY, [1], LATER, revision=1)
        assert store.delete_schema(referrer.key)
        assert store.delete_versions(KEY, [1], LATER, revision=1) == [1]

    def test_a_registry_goes_with_the_references_inside_it(self, referring):
        store, referrer, _ = referring
        store.add_registry(registry("q"), {}, limit=10)
        outside = SchemaKey("q", "s")
        reference = Reference(name="a", registry="r", schema="t", number=1)
        store.add_schema(schema(outside, latest=1), version(1, outside, references=(reference,)), {})
        with pytest.raises(VersionReferenced):
            store.delete_registry("r")
        assert store.get_version(referrer.id) == referrer
        store.delete_schema(outside)
        assert store.delete_registry("r")
        assert store.get_version(referrer.id) is None


def test_policies(stored):
    store, _ = stored
    policies = [
        ScopeConfig(scope="", compatibility=CompatibilityMode.FULL),
        ScopeConfig(scope="registry/r", mode="READONLY", normalize=True),
        ScopeConfig(scope="schema/r/s", mode="IMPORT", normalize=False, alias="other"),
        ScopeConfig(scope="schema/r/other", mode="READWRITE"),
        ScopeConfig(
            scope="schema/r/more",
            validate_fields=True,
            compatibility_policy="LENIENT",
            compatibility_group="major",
            default_metadata='{"tags":{}}',
            override_metadata='{"properties":{"a":"ü"}}',
        ),
    ]
    for policy in policies:
        assert store.change_config(policy.scope, lambda _, policy=policy: policy) is None
    assert store.change_config("", lambda before: replace(before, mode="READWRITE")) == policies[0]
    scopes = [policy.scope for policy in policies]
    assert store.get_configs([*scopes, "x"]) == {
        "": replace(policies[0], mode="READWRITE"), **{policy.scope: policy for policy in policies[1:]}
    }  # fmt: skip
    assert store.get_configs([]) == {}
    assert store.list_configs("schema/r/") == [policies[4], policies[3], policies[2]]
    assert store.change_config("registry/r", lambda before: ScopeConfig(scope=before.scope)) == policies[1]
    assert store.change_config("registry/r", lambda before: before) is None
    assert store.get_configs(["registry/r"]) == {}
    changes = len(store.list_audit(None, 100, resource="schema/r/s"))
    assert store.change_config("schema/r/s", lambda before: before) == policies[2]
    assert len(store.list_audit(None, 100, resource="schema/r/s")) == changes
    assert store.delete_schema(KEY)
    assert set(store.get_configs(scopes)) == {"", "schema/r/other", "schema/r/more"}
    assert store.delete_registry("r")
    assert set(store.get_configs(scopes)) == {""}


def test_changes_of_one_policy_at_the_same_instant_are_all_kept(store):
    count = 8
    start = threading.Barrier(count)
    members = [{"compatibility": CompatibilityMode.FULL}, {"mode": "READONLY"}, {"normalize": True}]
    for attempt in range(5):
        scope = f"schema/r/{attempt}"

        def change(position, scope=scope):
            start.wait()
            store.change_config(scope, lambda before: replace(before, **members[position % len(members)]))

        threads = [threading.Thread(target=change, args=(position,)) for position in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = ScopeConfig(scope=scope, compatibility=CompatibilityMode.FULL, mode="READONLY", normalize=True)
        assert store.get_configs([scope]) == {scope: expected}


def test_a_contract_is_kept(stored):
    store, _ = stored
    added = store.add_version(version(2, contract='{"properties":{"a":"\u00e9"}}'), revision=0, replaces=None)
    assert added.contract == '{"properties":{"a":"\u00e9"}}'
    assert store.get_version(added.id) == store.find_version(KEY, added.fingerprint) == added
    assert store.get_version_numbered(KEY, 1).contract is None


def test_the_highest_schema_id_of_a_registry(stored):
    store, first = stored
    assert store.highest_schema_id("r") == first.schema_id
    more = store.add_version(replace(version(2), schema_id=900), revision=0, replaces=None)
    store.add_registry(registry("other"), {}, limit=10)
    assert (store.highest_schema_id("r"), store.highest_schema_id("other")) == (more.schema_id, 0)


def test_an_inherited_compatibility_is_kept_as_such(store):
    store.add_registry(registry(), {}, limit=10)
    store.add_schema(replace(schema(), compatibility=None), None, {})
    assert store.get_schema(KEY).compatibility is None
    assert store.update_schema(replace(store.get_schema(KEY), compatibility=CompatibilityMode.NONE))
    assert store.get_schema(KEY).compatibility is CompatibilityMode.NONE


def test_versions_are_scanned_in_pages(stored):
    store, first = stored
    added = [first]
    for name in ("a", "s", "t"):
        key = SchemaKey("r", name)
        if name != "s":
            store.add_schema(schema(key), None, {})
        for number in (2, 3):
            more = version(number, key, status="FAILURE" if (name, number) == ("t", 2) else "AVAILABLE")
            added.append(store.add_version(more, revision=number - 2, replaces=None))
    expected = sorted((item for item in added if item.status == "AVAILABLE"), key=lambda item: (item.key, item.number))
    found, after = [], None
    while page := store.scan_versions("r", "", after, 2, deleted=False):
        found.extend(page)
        after = (page[-1].key, page[-1].number)
    assert found == expected
    assert store.scan_versions(None, "t", None, 10, deleted=True) == [item for item in expected if item.key.name == "t"]


def test_changes_are_recorded_with_their_actor(stored):
    store, _ = stored
    with acting(Actor(principal="arn:aws:iam::000000000000:user/ana", client="10.0.0.7")):
        added = store.add_version(version(2), revision=0, replaces=None)
        store.soft_delete_versions(KEY, [2], LATER, revision=1)
    with pytest.raises(SchemaExists):
        store.add_schema(schema(), None, {})
    newest, before = store.list_audit(None, 2, resource=None)
    assert (newest.operation, newest.outcome, newest.client) == ("SoftDeleteVersions", "versions 2", "10.0.0.7")
    assert before.principal == "arn:aws:iam::000000000000:user/ana"
    assert before.resource == "schema/r/s"
    assert before.outcome == f"version 2 AVAILABLE, id {added.id}, schema id {added.schema_id}"
    rest = store.list_audit(before.number, 10, resource=None)
    assert [entry.operation for entry in rest] == ["RegisterVersion", "CreateSchema", "CreateRegistry"]
    assert [entry.operation for entry in store.list_audit(None, 10, resource="registry/r")] == ["CreateRegistry"]
    assert rest[0].principal == "-"
