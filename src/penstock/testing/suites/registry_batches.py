"""Versions added together: writes of many callers at once, and what one caller's session sees."""

import threading
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from penstock.registry.audit import Actor
from penstock.registry.errors import MissingReference, SchemaIdTaken
from penstock.registry.model import EffectiveSchema, NewVersion, Reference, SchemaKey, ScopeConfig, Version
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode
from penstock.testing.suites.registry_values import KEY, add, added_versions, present, registry, schema, version

OTHER = SchemaKey("r", "t")
ANNE, BERT = Actor(principal="arn:anne", client="10.0.0.1"), Actor(principal="arn:bert", client="10.0.0.2")


def _instead(config: ScopeConfig, _: ScopeConfig) -> ScopeConfig:
    return config


class RegistryBatches:
    """Fixture ``store`` is an empty store."""

    @pytest.fixture
    def two_schemas(self, store: RegistryStore) -> RegistryStore:
        """The store with the schemas ``s`` and ``t``, of one version each."""
        store.registries.add(registry(), {}, limit=10)
        for key in (KEY, OTHER):
            store.schemas.add(schema(key, latest=1, next_number=2), version(1, key), {})
        return store

    def test_versions_added_together_are_as_those_added_alone(self, two_schemas: RegistryStore) -> None:
        steps = [
            NewVersion(version=version(2), revision=0, actor=ANNE),
            NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT),
        ]
        added = added_versions(two_schemas, steps)
        assert [item.id for item in added] == [step.version.id for step in steps]
        assert added[1].schema_id == added[0].schema_id + 1
        for step, item in zip(steps, added, strict=True):
            assert two_schemas.versions.get(step.version.id) == item
            assert present(two_schemas.schemas.get(step.version.key)).latest == 2
        entries = two_schemas.audit.list(None, 2, resource=None)
        assert [(entry.resource, entry.principal, entry.client) for entry in entries] == [
            ("schema/r/t", "arn:bert", "10.0.0.2"),
            ("schema/r/s", "arn:anne", "10.0.0.1"),
        ]

    def test_one_decided_on_an_old_revision_does_not_hold_up_the_others(self, two_schemas: RegistryStore) -> None:
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
    def test_one_that_cannot_be_added_leaves_no_trace(
        self, two_schemas: RegistryStore, broken: dict[str, Any], outcome: Any
    ) -> None:
        bad = NewVersion(version=version(2, **broken), revision=0, actor=ANNE)
        good = NewVersion(version=version(2, OTHER, fingerprint="f" * 64), revision=0, actor=BERT)
        added = two_schemas.versions.add([good, bad])
        assert type(added[1]) is outcome
        # Undone with the other one, or there: what it says is what is stored.
        assert two_schemas.versions.get(good.version.id) == added[0]
        untouched = present(two_schemas.schemas.get(KEY))
        assert (untouched.latest, untouched.revision) == (1, 0)
        assert [head.number for head in two_schemas.versions.list(KEY, None, 10)] == [1]
        assert not any(entry.principal == "arn:anne" for entry in two_schemas.audit.list(None, 10, resource=None))

    def test_many_groups_on_one_schema_lose_and_double_nothing(self, two_schemas: RegistryStore) -> None:
        threads_count, rounds = 6, 5
        barrier = threading.Barrier(threads_count)
        stored: list[Version] = []

        def write(writer: int) -> None:
            barrier.wait()
            for turn in range(rounds):
                key = SchemaKey("r", f"own-{writer}-{turn}")
                two_schemas.schemas.add(schema(key), None, {})
                mine = version(1, key, fingerprint=uuid4().hex * 2)
                shared = version(2, fingerprint=uuid4().hex * 2)
                steps = [NewVersion(version=item, revision=0, actor=ANNE) for item in (mine, shared)]
                stored.extend(item for item in two_schemas.versions.add(steps) if isinstance(item, Version))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(threads_count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len([item for item in stored if item.key == KEY]) == 1
        assert len({item.schema_id for item in stored}) == len(stored)
        assert all(two_schemas.versions.get(item.id) == item for item in stored)

    def test_calls_of_one_session_see_each_other(self, two_schemas: RegistryStore) -> None:
        with two_schemas.versions.session(), two_schemas.versions.session():
            added = present(add(two_schemas, version(2), revision=0))
            assert two_schemas.versions.get(added.id) == added
            assert present(two_schemas.schemas.get(KEY)).latest == 2
        assert present(two_schemas.schemas.get(KEY)).latest == 2

    def test_one_definition_of_two_schemas_has_one_schema_id_and_leaves_no_gap(self, two_schemas: RegistryStore) -> None:
        third = SchemaKey("r", "u")
        two_schemas.schemas.add(schema(third), None, {})
        same: dict[str, Any] = {"fingerprint": "e" * 64}
        versions = [version(2, **same), version(2, OTHER, **same), version(1, third, fingerprint="f" * 64)]
        added = added_versions(two_schemas, [NewVersion(version=item, revision=0, actor=ANNE) for item in versions])
        assert [item.schema_id - added[0].schema_id for item in added] == [0, 0, 1]
        known = present(add(two_schemas, version(3, fingerprint="f" * 64), revision=1))
        assert known.schema_id == added[2].schema_id
        assert present(add(two_schemas, version(4), revision=2)).schema_id == known.schema_id + 1

    @pytest.mark.parametrize("tags", [{}, {"team": "x", "a": "b"}], ids=["bare", "tagged"])
    def test_a_schema_stands_with_its_tags_and_what_the_nearest_policies_say(
        self, store: RegistryStore, tags: dict[str, str]
    ) -> None:
        assert store.versions.get_effective_schema(KEY) is None
        store.registries.add(registry(), {}, limit=10)
        store.schemas.add(schema(), None, tags)
        assert store.versions.get_effective_schema(KEY) == EffectiveSchema(
            schema=schema(), mode=None, inherited=None, tags=tags
        )
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
            store.configs.change(policy.scope, partial(_instead, policy))
            effective = present(store.versions.get_effective_schema(KEY))
            assert (effective.mode, effective.inherited) == (mode, inherited)
