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
from penstock.registry.model import Metadata, NewVersion, Reference, Registry, Schema, SchemaKey, ScopeConfig, Version
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


def add(store, wanted, *, revision, replaces=None):
    """What came of one version that is added alone; what it is refused with is raised."""
    [added] = store.versions.add([NewVersion(version=wanted, revision=revision, replaces=replaces)])
    if isinstance(added, Exception):
        raise added
    return added


@pytest.fixture
def stored(store):
    """The store with registry ``r`` and schema ``s`` of one version, and that version."""
    store.registries.add(registry(), {}, limit=10)
    first = store.schemas.add(schema(latest=1, next_number=2), version(1), {})
    return store, first


def test_registries(store):
    for name in ("b", "a", "C"):
        store.registries.add(registry(name), {"k": name}, limit=3)
    with pytest.raises(RegistryExists):
        store.registries.add(registry("a"), {}, limit=10)
    with pytest.raises(RegistryFull):
        store.registries.add(registry("d"), {}, limit=3)
    assert [item.name for item in store.registries.list(None, 10)] == ["C", "a", "b"]
    assert [item.name for item in store.registries.list("C", 1)] == ["a"]
    assert store.registries.get("a") == registry("a")
    assert store.registries.update("a", "new", LATER)
    assert store.registries.get("a") == replace(registry("a"), description="new", updated=LATER)
    assert not store.registries.update("x", "new", LATER)
    assert store.registries.get("x") is None


def test_deleting_a_registry_takes_all_it_holds_and_nothing_else(stored):
    store, first = stored
    other = SchemaKey("R", "s")
    store.registries.add(registry("R"), {}, limit=10)
    store.schemas.add(schema(other), None, {"keep": "me"})
    store.tags.add("schema/r/s", {"k": "v"}, limit=5)
    store.versions.get(first.id)
    assert store.registries.delete("r")
    assert not store.registries.delete("r")
    assert store.schemas.get(KEY) is None
    assert store.versions.get(first.id) is None
    assert store.versions.find(KEY, first.fingerprint) is None
    assert store.tags.get("schema/r/s") == {}
    assert store.tags.get("schema/R/s") == {"keep": "me"}
    assert store.schemas.get(other) is not None


def test_schemas(stored):
    store, _ = stored
    with pytest.raises(SchemaExists):
        store.schemas.add(schema(), None, {})
    with pytest.raises(RegistryNotFound):
        store.schemas.add(schema(SchemaKey("x", "s")), None, {})
    assert store.schemas.get(KEY) == schema(latest=1, next_number=2)
    assert store.schemas.get(SchemaKey("r", "x")) is None
    store.registries.add(registry("q"), {}, limit=10)
    for key in (SchemaKey("q", "z"), SchemaKey("r", "a")):
        store.schemas.add(schema(key), None, {})
    assert [item.key for item in store.schemas.list(None, None, 10)] == [("q", "z"), ("r", "a"), ("r", "s")]
    assert [item.key for item in store.schemas.list(None, SchemaKey("q", "z"), 1)] == [("r", "a")]
    assert [item.key for item in store.schemas.list("r", SchemaKey("r", "a"), 10)] == [("r", "s")]


def test_a_schema_with_a_taken_name_leaves_no_trace(stored):
    store, _ = stored
    second = version(1)
    with pytest.raises(SchemaExists):
        store.schemas.add(schema(), second, {"k": "v"})
    assert store.versions.get(second.id) is None
    assert store.tags.get("schema/r/s") == {}


def test_updates_need_the_revision_they_were_decided_on(stored):
    store, _ = stored
    old = store.schemas.get(KEY)
    changed = replace(old, compatibility=CompatibilityMode.FULL_ALL, checkpoint=1, description="e", updated=LATER)
    assert store.schemas.update(changed)
    assert store.schemas.get(KEY) == replace(changed, revision=old.revision + 1)
    assert not store.schemas.update(changed)
    assert not store.schemas.update(replace(changed, key=SchemaKey("r", "x")))


def test_versions_are_found_by_id_number_and_fingerprint(stored):
    store, first = stored
    for _ in range(2):
        assert store.versions.get(first.id) == first
        assert store.versions.get_numbered(KEY, 1) == first
        assert store.versions.find(KEY, first.fingerprint) == first
    assert store.versions.get(str(uuid4())) is None
    assert store.versions.get_numbered(KEY, 2) is None
    assert store.versions.find(KEY, "0" * 64) is None
    assert store.versions.find(SchemaKey("r", "x"), first.fingerprint) is None


def test_adding_versions(stored):
    store, first = stored
    before = store.schemas.get(KEY)
    second = add(store, version(2), revision=before.revision)
    after = store.schemas.get(KEY)
    assert (after.latest, after.next_number) == (2, 3)
    assert after.revision != before.revision
    assert not add(store, version(3), revision=before.revision)
    assert not add(store, version(2), revision=after.revision)
    assert not add(store, version(3, fingerprint=first.fingerprint), revision=after.revision)
    assert store.schemas.get(KEY) == after
    assert [head.number for head in store.versions.list(KEY, None, 10)] == [1, 2]
    assert [head.id for head in store.versions.list(KEY, 1, 10)] == [second.id]
    assert len(store.versions.list(KEY, None, 1)) == 1


def test_refused_versions_keep_their_verdict_and_can_be_replaced(stored):
    store, _ = stored
    refused = add(store, version(2, status="FAILURE", verdict=VERDICT), revision=0)
    assert store.schemas.get(KEY).latest == 1
    assert store.versions.get(refused.id) == refused
    assert store.versions.find(KEY, refused.fingerprint).verdict == VERDICT
    accepted = add(store, version(3, fingerprint=refused.fingerprint), revision=1, replaces=refused.id)
    assert accepted.schema_id == refused.schema_id
    assert store.versions.get(refused.id) is None
    assert store.versions.get_numbered(KEY, 2) is None
    assert store.versions.find(KEY, refused.fingerprint) == accepted


def test_deleting_versions(stored):
    store, first = stored
    added = []
    for revision, number in enumerate((2, 3, 4)):
        added.append(add(store, version(number), revision=revision))
        store.versions.get(added[-1].id)
    assert store.deletion.delete(KEY, range(3, 9), LATER, revision=2) is None
    assert store.deletion.delete(KEY, range(3, 9), LATER, revision=3) == [3, 4]
    assert [store.versions.get(item.id) for item in added] == [added[0], None, None]
    assert (store.schemas.get(KEY).latest, store.schemas.get(KEY).next_number) == (2, 5)
    assert store.deletion.delete(KEY, range(2, 3), LATER, revision=4) == [2]
    assert store.schemas.get(KEY).latest == 1
    assert store.deletion.delete(KEY, range(2, 3), LATER, revision=5) == []
    assert store.versions.get(first.id) == first


def test_deleting_a_schema(stored):
    store, first = stored
    store.metadata.put(first.id, Metadata(key="k", value="v", created=NOW), limit=10)
    store.versions.get(first.id)
    assert store.schemas.delete(KEY)
    assert not store.schemas.delete(KEY)
    assert store.versions.get(first.id) is None
    assert store.versions.list(KEY, None, 10) == []
    assert store.metadata.list(first.id) == []
    again = store.schemas.add(schema(latest=1, next_number=2), version(1, definition='"again"'), {})
    assert store.versions.get_numbered(KEY, 1) == again
    assert store.versions.find(KEY, again.fingerprint) == again


def test_metadata(stored):
    store, first = stored
    pairs = [Metadata(key=key, value=value, created=NOW) for key, value in (("b", "2"), ("a", "9"), ("a", "1"))]
    for pair in pairs:
        store.metadata.put(first.id, pair, limit=3)
    with pytest.raises(MetadataExists):
        store.metadata.put(first.id, pairs[0], limit=10)
    with pytest.raises(RegistryFull):
        store.metadata.put(first.id, Metadata(key="c", value="1", created=NOW), limit=3)
    with pytest.raises(VersionNotFound):
        store.metadata.put(str(uuid4()), pairs[0], limit=3)
    assert store.metadata.list(first.id) == [pairs[1], pairs[2], pairs[0]]
    assert store.metadata.remove(first.id, "a", "9")
    assert not store.metadata.remove(first.id, "a", "9")
    assert store.metadata.list(first.id) == [pairs[2], pairs[0]]


def test_tags(stored):
    store, _ = stored
    store.tags.add("registry/r", {"b": "1", "a": "2"}, limit=2)
    store.tags.add("registry/r", {"b": "3"}, limit=2)
    with pytest.raises(RegistryFull):
        store.tags.add("registry/r", {"c": "3"}, limit=2)
    assert store.tags.get("registry/r") == {"a": "2", "b": "3"}
    store.tags.remove("registry/r", ["a", "zz"])
    assert store.tags.get("registry/r") == {"b": "3"}
    assert store.tags.get("registry/other") == {}


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
def test_one_of_many_writers_on_one_revision_wins(stored):
    store, _ = stored
    barrier, won = threading.Barrier(8), []

    def write(number):
        candidate = version(2, fingerprint=f"{number:064}")
        barrier.wait()
        won.append(add(store, candidate, revision=0) is not None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(100, 108)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def two_stores(databases):
    """A store on each of ``databases``, which are one, and the only version they hold."""
    stores = [SqlRegistryStore(database) for database in databases]
    stores[0].registries.add(registry(), {}, limit=10)
    return stores, stores[0].schemas.add(schema(latest=1, next_number=2), version(1), {})


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
        assert two.versions.get(first.id) == first
        assert one.schemas.delete(KEY)
        assert two.versions.get(first.id) is None
        assert two.versions.find(KEY, first.fingerprint) is None

    def test_registrations_by_the_other_leave_the_cache_alone(self, pair, monkeypatch):
        (one, two), first = pair
        assert two.versions.get(first.id) is two.versions.get(first.id)
        kept = two.versions.get(first.id)
        assert add(one, version(2), revision=0)
        assert two.versions.get(first.id) is kept
        assert one.deletion.delete(KEY, range(2, 3), LATER, revision=1) == [2]
        assert two.versions.get(first.id) is not kept
        assert two.versions.get(first.id) == first

    def test_a_body_read_before_a_deletion_is_not_kept_after_it(self, pair):
        (one, two), first = pair
        stamp = two.versions._cache.stamp()
        assert one.schemas.delete(KEY)
        two.versions._cache.stamp()
        two.versions._cache.put(first.id, first, stamp)
        assert two.versions.get(first.id) is None


class TestSchemaIds:
    """One number for one definition in one registry."""

    def test_a_definition_has_one_in_a_registry_and_another_in_the_next(self, stored):
        store, first = stored
        other, elsewhere = SchemaKey("r", "t"), SchemaKey("q", "s")
        store.registries.add(registry("q"), {}, limit=10)
        same = version(1, other, fingerprint=first.fingerprint)
        assert store.schemas.add(schema(other, latest=1, next_number=2), same, {}).schema_id == first.schema_id
        apart = version(1, elsewhere, fingerprint=first.fingerprint)
        apart = store.schemas.add(schema(elsewhere, latest=1, next_number=2), apart, {})
        assert apart.schema_id > first.schema_id
        assert store.versions.get(apart.id) == apart
        assert [head.key for head in store.schema_ids.list_versions("r", first.schema_id)] == [KEY, other]
        assert store.schema_ids.list_versions("q", first.schema_id) == []
        assert store.schema_ids.get_version("q", apart.schema_id) == apart
        assert store.schema_ids.get_version("r", apart.schema_id) is None

    def test_a_deleted_definition_keeps_it(self, stored):
        store, first = stored
        second = add(store, version(2), revision=0)
        store.deletion.delete(KEY, [2], LATER, revision=1)
        third = add(store, version(3), revision=2)
        again = add(store, version(4, fingerprint=second.fingerprint), revision=3)
        assert len({first.schema_id, second.schema_id, third.schema_id}) == 3
        assert again.schema_id == second.schema_id

    def test_imports_bring_their_own(self, stored):
        store, first = stored
        imported = add(store, version(20, schema_id=500), revision=0)
        assert (imported.schema_id, imported.number) == (500, 20)
        assert (store.schemas.get(KEY).latest, store.schemas.get(KEY).next_number) == (20, 21)
        below = add(store, version(7, schema_id=77), revision=1)
        assert below.schema_id == 77
        assert (store.schemas.get(KEY).latest, store.schemas.get(KEY).next_number) == (20, 21)
        assert add(store, version(21), revision=2).schema_id == 501
        for number, schema_id in ((40, 500), (41, first.schema_id)):
            with pytest.raises(SchemaIdTaken):
                add(store, version(number, schema_id=schema_id), revision=3)
        other = SchemaKey("r", "t")
        with pytest.raises(SchemaIdTaken, match="has id"):
            store.schemas.add(schema(other), version(1, other, fingerprint=first.fingerprint, schema_id=900), {})
        assert store.schemas.get(other) is None
        assert store.schemas.get(KEY).revision == 3

    def test_one_that_no_version_has_any_more_is_free_for_an_import(self, stored):
        store, _ = stored
        gone = add(store, version(2), revision=0)
        store.deletion.delete(KEY, [2], LATER, revision=1)
        taken = add(store, version(3, schema_id=gone.schema_id), revision=2)
        assert taken.schema_id == gone.schema_id
        again = add(store, version(4, fingerprint=gone.fingerprint), revision=3)
        assert again.schema_id not in {gone.schema_id, 0}


class TestSoftDeletion:
    @pytest.fixture
    def deleted(self, stored):
        """The store whose version 2 of two is soft-deleted, and that version before it was."""
        store, _ = stored
        second = add(store, version(2), revision=0)
        store.versions.get(second.id)
        assert store.deletion.soft_delete(KEY, [2, 9], LATER, revision=7) is None
        assert store.deletion.soft_delete(KEY, [2, 9], LATER, revision=1) == [2]
        return store, second

    def test_it_is_left_out_and_still_read(self, deleted):
        store, second = deleted
        marked = replace(second, deleted=LATER)
        assert (store.schemas.get(KEY).latest, store.schemas.get(KEY).next_number) == (1, 3)
        assert [head.number for head in store.versions.list(KEY, None, 10)] == [1]
        assert [head.deleted for head in store.versions.list(KEY, None, 10, deleted=True)] == [None, LATER]
        assert store.versions.get(second.id) == marked
        assert store.versions.get_numbered(KEY, 2) == marked
        assert store.versions.find(KEY, second.fingerprint) == marked
        assert store.schema_ids.get_version("r", second.schema_id) == marked
        assert store.deletion.soft_delete(KEY, [2], LATER, revision=2) == []

    def test_a_live_version_with_the_schema_id_goes_before_it(self, deleted):
        store, second = deleted
        other = SchemaKey("r", "t")
        live = store.schemas.add(schema(other, latest=1), version(1, other, fingerprint=second.fingerprint), {})
        assert store.schema_ids.get_version("r", second.schema_id) == live

    def test_it_comes_back_with_its_ids_and_metadata(self, deleted):
        store, second = deleted
        store.metadata.put(second.id, Metadata(key="k", value="v", created=NOW), limit=10)
        wanted = replace(version(3, fingerprint=second.fingerprint), id=second.id)
        back = add(store, wanted, revision=2, replaces=second.id)
        assert (back.id, back.schema_id, back.number, back.deleted) == (second.id, second.schema_id, 3, None)
        assert store.versions.get(second.id) == back
        assert store.versions.get_numbered(KEY, 2) is None
        assert len(store.metadata.list(second.id)) == 1
        assert store.schemas.get(KEY).latest == 3

    def test_subjects_are_those_that_hold_something(self, deleted):
        store, _ = deleted
        empty, gone = SchemaKey("r", "S"), SchemaKey("r", "t")
        store.schemas.add(schema(empty), None, {})
        store.schemas.add(schema(gone, latest=1, next_number=2), version(1, gone), {})
        store.deletion.soft_delete(gone, [1], LATER, revision=0)

        def subjects(after=None, count=10, prefix="", registry="r", **wanted):
            return store.schemas.list_subjects(registry, prefix, after, count, **wanted)

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
        return store, store.schemas.add(schema(other, latest=1, next_number=2), wanted, {}), target

    def test_they_are_kept_and_found_backwards(self, referring):
        store, referrer, target = referring
        assert store.versions.get(referrer.id) == referrer
        assert [head.id for head in store.versions.list_referrers(target.id)] == [referrer.id]
        assert store.versions.list_referrers(referrer.id) == []

    def test_what_they_name_has_to_be_there(self, stored):
        store, _ = stored
        missing = Reference(name="x", registry="r", schema="s", number=9)
        with pytest.raises(MissingReference):
            add(store, version(2, references=(missing,)), revision=0)
        assert store.schemas.get(KEY).revision == 0

    def test_what_is_referred_to_stays(self, referring):
        store, referrer, target = referring
        for delete in (
            lambda: store.deletion.delete(KEY, [1], LATER, revision=0),
            lambda: store.deletion.soft_delete(KEY, [1], LATER, revision=0),
            lambda: store.schemas.delete(KEY),
        ):
            with pytest.raises(VersionReferenced) as refused:
                delete()
            assert [head.id for head in refused.value.referrers] == [referrer.id]
        assert store.versions.get(target.id) == target
        assert store.deletion.soft_delete(referrer.key, [1], LATER, revision=0) == [1]
        assert store.deletion.soft_delete(KEY, [1], LATER, revision=0) == [1]
        with pytest.raises(VersionReferenced):
            store.deletion.delete(KEY, [1], LATER, revision=1)
        assert store.schemas.delete(referrer.key)
        assert store.deletion.delete(KEY, [1], LATER, revision=1) == [1]

    def test_a_registry_goes_with_the_references_inside_it(self, referring):
        store, referrer, _ = referring
        store.registries.add(registry("q"), {}, limit=10)
        outside = SchemaKey("q", "s")
        reference = Reference(name="a", registry="r", schema="t", number=1)
        store.schemas.add(schema(outside, latest=1), version(1, outside, references=(reference,)), {})
        with pytest.raises(VersionReferenced):
            store.registries.delete("r")
        assert store.versions.get(referrer.id) == referrer
        store.schemas.delete(outside)
        assert store.registries.delete("r")
        assert store.versions.get(referrer.id) is None


def test_scope_configs(stored):
    store, _ = stored
    configs = [
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
    for config in configs:
        assert store.configs.change(config.scope, lambda _, config=config: config) is None
    assert store.configs.change("", lambda before: replace(before, mode="READWRITE")) == configs[0]
    scopes = [config.scope for config in configs]
    assert store.configs.get([*scopes, "x"]) == {
        "": replace(configs[0], mode="READWRITE"), **{config.scope: config for config in configs[1:]}
    }  # fmt: skip
    assert store.configs.get([]) == {}
    assert store.configs.list("schema/r/") == [configs[4], configs[3], configs[2]]
    assert store.configs.change("registry/r", lambda before: ScopeConfig(scope=before.scope)) == configs[1]
    assert store.configs.change("registry/r", lambda before: before) is None
    assert store.configs.get(["registry/r"]) == {}
    changes = len(store.audit.list(None, 100, resource="schema/r/s"))
    assert store.configs.change("schema/r/s", lambda before: before) == configs[2]
    assert len(store.audit.list(None, 100, resource="schema/r/s")) == changes
    assert store.schemas.delete(KEY)
    assert set(store.configs.get(scopes)) == {"", "schema/r/other", "schema/r/more"}
    assert store.registries.delete("r")
    assert set(store.configs.get(scopes)) == {""}


def test_changes_of_one_config_at_the_same_instant_are_all_kept(store):
    count = 8
    start = threading.Barrier(count)
    members = [{"compatibility": CompatibilityMode.FULL}, {"mode": "READONLY"}, {"normalize": True}]
    for attempt in range(5):
        scope = f"schema/r/{attempt}"

        def change(position, scope=scope):
            start.wait()
            store.configs.change(scope, lambda before: replace(before, **members[position % len(members)]))

        threads = [threading.Thread(target=change, args=(position,)) for position in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = ScopeConfig(scope=scope, compatibility=CompatibilityMode.FULL, mode="READONLY", normalize=True)
        assert store.configs.get([scope]) == {scope: expected}


def test_a_contract_is_kept(stored):
    store, _ = stored
    added = add(store, version(2, contract='{"properties":{"a":"\u00e9"}}'), revision=0)
    assert added.contract == '{"properties":{"a":"\u00e9"}}'
    assert store.versions.get(added.id) == store.versions.find(KEY, added.fingerprint) == added
    assert store.versions.get_numbered(KEY, 1).contract is None


def test_the_highest_schema_id_of_a_registry(stored):
    store, first = stored
    assert store.schema_ids.highest("r") == first.schema_id
    more = add(store, replace(version(2), schema_id=900), revision=0)
    store.registries.add(registry("other"), {}, limit=10)
    assert (store.schema_ids.highest("r"), store.schema_ids.highest("other")) == (more.schema_id, 0)


def test_an_inherited_compatibility_is_kept_as_such(store):
    store.registries.add(registry(), {}, limit=10)
    store.schemas.add(replace(schema(), compatibility=None), None, {})
    assert store.schemas.get(KEY).compatibility is None
    assert store.schemas.update(replace(store.schemas.get(KEY), compatibility=CompatibilityMode.NONE))
    assert store.schemas.get(KEY).compatibility is CompatibilityMode.NONE


def test_versions_are_scanned_in_pages(stored):
    store, first = stored
    added = [first]
    for name in ("a", "s", "t"):
        key = SchemaKey("r", name)
        if name != "s":
            store.schemas.add(schema(key), None, {})
        for number in (2, 3):
            more = version(number, key, status="FAILURE" if (name, number) == ("t", 2) else "AVAILABLE")
            added.append(add(store, more, revision=number - 2))
    expected = sorted((item for item in added if item.status == "AVAILABLE"), key=lambda item: (item.key, item.number))
    found, after = [], None
    while page := store.versions.scan("r", "", after, 2, deleted=False):
        found.extend(page)
        after = (page[-1].key, page[-1].number)
    assert found == expected
    assert store.versions.scan(None, "t", None, 10, deleted=True) == [item for item in expected if item.key.name == "t"]


def test_changes_are_recorded_with_their_actor(stored):
    store, _ = stored
    with acting(Actor(principal="arn:aws:iam::000000000000:user/ana", client="10.0.0.7")):
        added = add(store, version(2), revision=0)
        store.deletion.soft_delete(KEY, [2], LATER, revision=1)
    with pytest.raises(SchemaExists):
        store.schemas.add(schema(), None, {})
    newest, before = store.audit.list(None, 2, resource=None)
    assert (newest.operation, newest.outcome, newest.client) == ("SoftDeleteVersions", "versions 2", "10.0.0.7")
    assert before.principal == "arn:aws:iam::000000000000:user/ana"
    assert before.resource == "schema/r/s"
    assert before.outcome == f"version 2 AVAILABLE, id {added.id}, schema id {added.schema_id}"
    rest = store.audit.list(before.number, 10, resource=None)
    assert [entry.operation for entry in rest] == ["RegisterVersion", "CreateSchema", "CreateRegistry"]
    assert [entry.operation for entry in store.audit.list(None, 10, resource="registry/r")] == ["CreateRegistry"]
    assert rest[0].principal == "-"
