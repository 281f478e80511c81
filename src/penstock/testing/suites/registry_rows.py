"""Registries, schemas and versions, with metadata, tags, configurations and audit log: rows come back as they went in."""

import threading
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from penstock.registry.audit import Actor, acting
from penstock.registry.errors import (
    MetadataExists,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
    VersionNotFound,
)
from penstock.registry.model import Metadata, SchemaKey, ScopeConfig, Version
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.schema.incompatibility import Incompatibility
from penstock.testing.suites.registry_values import (
    KEY,
    LATER,
    NOW,
    StoredVersion,
    WithVersion,
    add,
    present,
    registry,
    schema,
    version,
)

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


def _instead(config: ScopeConfig, _: ScopeConfig) -> ScopeConfig:
    return config


class RegistryRows(WithVersion):
    """Rows, each by itself."""

    def test_registries(self, store: RegistryStore) -> None:
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

    def test_deleting_a_registry_takes_all_it_holds_and_nothing_else(self, stored: StoredVersion) -> None:
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

    def test_schemas(self, stored: StoredVersion) -> None:
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

    def test_a_schema_with_a_taken_name_leaves_no_trace(self, stored: StoredVersion) -> None:
        store, _ = stored
        second = version(1)
        with pytest.raises(SchemaExists):
            store.schemas.add(schema(), second, {"k": "v"})
        assert store.versions.get(second.id) is None
        assert store.tags.get("schema/r/s") == {}

    def test_updates_need_the_revision_they_were_decided_on(self, stored: StoredVersion) -> None:
        store, _ = stored
        old = present(store.schemas.get(KEY))
        changed = replace(old, compatibility=CompatibilityMode.FULL_ALL, checkpoint=1, description="e", updated=LATER)
        assert store.schemas.update(changed)
        assert store.schemas.get(KEY) == replace(changed, revision=old.revision + 1)
        assert not store.schemas.update(changed)
        assert not store.schemas.update(replace(changed, key=SchemaKey("r", "x")))

    def test_versions_are_found_by_id_number_and_fingerprint(self, stored: StoredVersion) -> None:
        store, first = stored
        for _ in range(2):
            assert store.versions.get(first.id) == first
            assert store.versions.get_numbered(KEY, 1) == first
            assert store.versions.find(KEY, first.fingerprint) == first
        assert store.versions.get(str(uuid4())) is None
        assert store.versions.get_numbered(KEY, 2) is None
        assert store.versions.find(KEY, "0" * 64) is None
        assert store.versions.find(SchemaKey("r", "x"), first.fingerprint) is None

    def test_adding_versions(self, stored: StoredVersion) -> None:
        store, first = stored
        before = present(store.schemas.get(KEY))
        second = present(add(store, version(2), revision=before.revision))
        after = present(store.schemas.get(KEY))
        assert (after.latest, after.next_number) == (2, 3)
        assert after.revision != before.revision
        assert not add(store, version(3), revision=before.revision)
        assert not add(store, version(2), revision=after.revision)
        assert not add(store, version(3, fingerprint=first.fingerprint), revision=after.revision)
        assert store.schemas.get(KEY) == after
        assert [head.number for head in store.versions.list(KEY, None, 10)] == [1, 2]
        assert [head.id for head in store.versions.list(KEY, 1, 10)] == [second.id]
        assert len(store.versions.list(KEY, None, 1)) == 1

    def test_refused_versions_keep_their_verdict_and_can_be_replaced(self, stored: StoredVersion) -> None:
        store, _ = stored
        refused = present(add(store, version(2, status="FAILURE", verdict=VERDICT), revision=0))
        assert present(store.schemas.get(KEY)).latest == 1
        assert store.versions.get(refused.id) == refused
        assert present(store.versions.find(KEY, refused.fingerprint)).verdict == VERDICT
        accepted = present(add(store, version(3, fingerprint=refused.fingerprint), revision=1, replaces=refused.id))
        assert accepted.schema_id == refused.schema_id
        assert store.versions.get(refused.id) is None
        assert store.versions.get_numbered(KEY, 2) is None
        assert store.versions.find(KEY, refused.fingerprint) == accepted

    def test_deleting_versions(self, stored: StoredVersion) -> None:
        store, first = stored
        added = []
        for revision, number in enumerate((2, 3, 4)):
            added.append(present(add(store, version(number), revision=revision)))
            store.versions.get(added[-1].id)
        assert store.deletion.delete(KEY, range(3, 9), LATER, revision=2) is None
        assert store.deletion.delete(KEY, range(3, 9), LATER, revision=3) == [3, 4]
        assert [store.versions.get(item.id) for item in added] == [added[0], None, None]
        assert (present(store.schemas.get(KEY)).latest, present(store.schemas.get(KEY)).next_number) == (2, 5)
        assert store.deletion.delete(KEY, range(2, 3), LATER, revision=4) == [2]
        assert present(store.schemas.get(KEY)).latest == 1
        assert store.deletion.delete(KEY, range(2, 3), LATER, revision=5) == []
        assert store.versions.get(first.id) == first

    def test_deleting_a_schema(self, stored: StoredVersion) -> None:
        store, first = stored
        store.metadata.put(first.id, Metadata(key="k", value="v", created=NOW), limit=10)
        store.versions.get(first.id)
        assert store.schemas.delete(KEY)
        assert not store.schemas.delete(KEY)
        assert store.versions.get(first.id) is None
        assert store.versions.list(KEY, None, 10) == []
        assert store.metadata.list(first.id) == []
        again = present(store.schemas.add(schema(latest=1, next_number=2), version(1, definition='"again"'), {}))
        assert store.versions.get_numbered(KEY, 1) == again
        assert store.versions.find(KEY, again.fingerprint) == again

    def test_metadata(self, stored: StoredVersion) -> None:
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

    def test_tags(self, stored: StoredVersion) -> None:
        store, _ = stored
        store.tags.add("registry/r", {"b": "1", "a": "2"}, limit=2)
        store.tags.add("registry/r", {"b": "3"}, limit=2)
        with pytest.raises(RegistryFull):
            store.tags.add("registry/r", {"c": "3"}, limit=2)
        assert store.tags.get("registry/r") == {"a": "2", "b": "3"}
        store.tags.remove("registry/r", ["a", "zz"])
        assert store.tags.get("registry/r") == {"b": "3"}
        assert store.tags.get("registry/other") == {}

    def test_one_of_many_writers_on_one_revision_wins(self, stored: StoredVersion) -> None:
        store, _ = stored
        barrier, won = threading.Barrier(8), []

        def write(number: int) -> None:
            candidate = version(2, fingerprint=f"{number:064}")
            barrier.wait()
            won.append(add(store, candidate, revision=0) is not None)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(100, 108)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False] * 7 + [True]

    def test_scope_configs(self, stored: StoredVersion) -> None:
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
            assert store.configs.change(config.scope, partial(_instead, config)) is None
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

    def test_changes_of_one_config_at_the_same_instant_are_all_kept(self, store: RegistryStore) -> None:
        count = 8
        start = threading.Barrier(count)
        members: list[dict[str, Any]]
        members = [{"compatibility": CompatibilityMode.FULL}, {"mode": "READONLY"}, {"normalize": True}]
        for attempt in range(5):
            scope = f"schema/r/{attempt}"

            def change(position: int, scope: str = scope) -> None:
                start.wait()
                store.configs.change(scope, lambda before: replace(before, **members[position % len(members)]))

            threads = [threading.Thread(target=change, args=(position,)) for position in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            expected = ScopeConfig(scope=scope, compatibility=CompatibilityMode.FULL, mode="READONLY", normalize=True)
            assert store.configs.get([scope]) == {scope: expected}

    def test_a_contract_is_kept(self, stored: StoredVersion) -> None:
        store, _ = stored
        added = present(add(store, version(2, contract='{"properties":{"a":"\u00e9"}}'), revision=0))
        assert added.contract == '{"properties":{"a":"\u00e9"}}'
        assert store.versions.get(added.id) == store.versions.find(KEY, added.fingerprint) == added
        assert present(store.versions.get_numbered(KEY, 1)).contract is None

    def test_the_highest_schema_id_of_a_registry(self, stored: StoredVersion) -> None:
        store, first = stored
        assert store.schema_ids.highest("r") == first.schema_id
        more = present(add(store, replace(version(2), schema_id=900), revision=0))
        store.registries.add(registry("other"), {}, limit=10)
        assert (store.schema_ids.highest("r"), store.schema_ids.highest("other")) == (more.schema_id, 0)

    def test_an_inherited_compatibility_is_kept_as_such(self, store: RegistryStore) -> None:
        store.registries.add(registry(), {}, limit=10)
        store.schemas.add(replace(schema(), compatibility=None), None, {})
        assert present(store.schemas.get(KEY)).compatibility is None
        assert store.schemas.update(replace(present(store.schemas.get(KEY)), compatibility=CompatibilityMode.NONE))
        assert present(store.schemas.get(KEY)).compatibility is CompatibilityMode.NONE

    def test_versions_are_scanned_in_pages(self, stored: StoredVersion) -> None:
        store, first = stored
        added = [first]
        for name in ("a", "s", "t"):
            key = SchemaKey("r", name)
            if name != "s":
                store.schemas.add(schema(key), None, {})
            for number in (2, 3):
                more = version(number, key, status="FAILURE" if (name, number) == ("t", 2) else "AVAILABLE")
                added.append(present(add(store, more, revision=number - 2)))
        expected = sorted((item for item in added if item.status == "AVAILABLE"), key=lambda item: (item.key, item.number))
        versions: list[Version] = []
        after = None
        while page := store.versions.scan("r", "", after, 2, deleted=False):
            versions.extend(page)
            after = (page[-1].key, page[-1].number)
        assert versions == expected
        assert store.versions.scan(None, "t", None, 10, deleted=True) == [item for item in expected if item.key.name == "t"]

    def test_changes_are_recorded_with_their_actor(self, stored: StoredVersion) -> None:
        store, _ = stored
        with acting(Actor(principal="arn:aws:iam::000000000000:user/ana", client="10.0.0.7")):
            added = present(add(store, version(2), revision=0))
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
