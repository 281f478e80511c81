"""Versions beside each other: their schema ids, soft deletion, references."""

from dataclasses import replace

import pytest

from penstock.registry.errors import (
    MissingReference,
    SchemaIdTaken,
    VersionReferenced,
)
from penstock.registry.model import Metadata, Reference, SchemaKey, Version
from penstock.registry.store import RegistryStore
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


class RegistryVersions(WithVersion):
    """One schema id for one definition in one registry; what is soft-deleted; what refers to what."""

    def test_a_definition_has_one_schema_id_in_a_registry_and_another_in_the_next(self, stored: StoredVersion) -> None:
        store, first = stored
        other, elsewhere = SchemaKey("r", "t"), SchemaKey("q", "s")
        store.registries.add(registry("q"), {}, limit=10)
        same = version(1, other, fingerprint=first.fingerprint)
        assert present(store.schemas.add(schema(other, latest=1, next_number=2), same, {})).schema_id == first.schema_id
        apart = version(1, elsewhere, fingerprint=first.fingerprint)
        apart = present(store.schemas.add(schema(elsewhere, latest=1, next_number=2), apart, {}))
        assert apart.schema_id > first.schema_id
        assert store.versions.get(apart.id) == apart
        assert [head.key for head in store.schema_ids.list_versions("r", first.schema_id)] == [KEY, other]
        assert store.schema_ids.list_versions("q", first.schema_id) == []
        assert store.schema_ids.get_version("q", apart.schema_id) == apart
        assert store.schema_ids.get_version("r", apart.schema_id) is None

    def test_a_deleted_definition_keeps_its_schema_id(self, stored: StoredVersion) -> None:
        store, first = stored
        second = present(add(store, version(2), revision=0))
        store.deletion.delete(KEY, [2], LATER, revision=1)
        third = present(add(store, version(3), revision=2))
        again = present(add(store, version(4, fingerprint=second.fingerprint), revision=3))
        assert len({first.schema_id, second.schema_id, third.schema_id}) == 3
        assert again.schema_id == second.schema_id

    def test_imports_bring_their_schema_ids(self, stored: StoredVersion) -> None:
        store, first = stored
        imported = present(add(store, version(20, schema_id=500), revision=0))
        assert (imported.schema_id, imported.number) == (500, 20)
        assert (present(store.schemas.get(KEY)).latest, present(store.schemas.get(KEY)).next_number) == (20, 21)
        below = present(add(store, version(7, schema_id=77), revision=1))
        assert below.schema_id == 77
        assert (present(store.schemas.get(KEY)).latest, present(store.schemas.get(KEY)).next_number) == (20, 21)
        assert present(add(store, version(21), revision=2)).schema_id == 501
        for number, schema_id in ((40, 500), (41, first.schema_id)):
            with pytest.raises(SchemaIdTaken):
                add(store, version(number, schema_id=schema_id), revision=3)
        other = SchemaKey("r", "t")
        with pytest.raises(SchemaIdTaken, match="has id"):
            store.schemas.add(schema(other), version(1, other, fingerprint=first.fingerprint, schema_id=900), {})
        assert store.schemas.get(other) is None
        assert present(store.schemas.get(KEY)).revision == 3

    def test_a_schema_id_that_no_version_has_any_more_is_free_for_an_import(self, stored: StoredVersion) -> None:
        store, _ = stored
        deleted = present(add(store, version(2), revision=0))
        store.deletion.delete(KEY, [2], LATER, revision=1)
        taken = present(add(store, version(3, schema_id=deleted.schema_id), revision=2))
        assert taken.schema_id == deleted.schema_id
        again = present(add(store, version(4, fingerprint=deleted.fingerprint), revision=3))
        assert again.schema_id not in {deleted.schema_id, 0}

    @pytest.fixture
    def deleted(self, stored: StoredVersion) -> StoredVersion:
        """The store whose version 2 of two is soft-deleted, and that version before it was."""
        store, _ = stored
        second = present(add(store, version(2), revision=0))
        store.versions.get(second.id)
        assert store.deletion.soft_delete(KEY, [2, 9], LATER, revision=7) is None
        assert store.deletion.soft_delete(KEY, [2, 9], LATER, revision=1) == [2]
        return StoredVersion(store, second)

    def test_a_soft_deleted_version_is_left_out_and_still_read(self, deleted: StoredVersion) -> None:
        store, second = deleted
        marked = replace(second, deleted=LATER)
        assert (present(store.schemas.get(KEY)).latest, present(store.schemas.get(KEY)).next_number) == (1, 3)
        assert [head.number for head in store.versions.list(KEY, None, 10)] == [1]
        assert [head.deleted for head in store.versions.list(KEY, None, 10, deleted=True)] == [None, LATER]
        assert store.versions.get(second.id) == marked
        assert store.versions.get_numbered(KEY, 2) == marked
        assert store.versions.find(KEY, second.fingerprint) == marked
        assert store.schema_ids.get_version("r", second.schema_id) == marked
        assert store.deletion.soft_delete(KEY, [2], LATER, revision=2) == []

    def test_a_live_version_goes_before_a_soft_deleted_one(self, deleted: StoredVersion) -> None:
        store, second = deleted
        other = SchemaKey("r", "t")
        live = present(store.schemas.add(schema(other, latest=1), version(1, other, fingerprint=second.fingerprint), {}))
        assert store.schema_ids.get_version("r", second.schema_id) == live

    def test_a_soft_deleted_version_comes_back_with_its_ids_and_metadata(self, deleted: StoredVersion) -> None:
        store, second = deleted
        store.metadata.put(second.id, Metadata(key="k", value="v", created=NOW), limit=10)
        wanted = replace(version(3, fingerprint=second.fingerprint), id=second.id)
        back = present(add(store, wanted, revision=2, replaces=second.id))
        assert (back.id, back.schema_id, back.number, back.deleted) == (second.id, second.schema_id, 3, None)
        assert store.versions.get(second.id) == back
        assert store.versions.get_numbered(KEY, 2) is None
        assert len(store.metadata.list(second.id)) == 1
        assert present(store.schemas.get(KEY)).latest == 3

    def test_subjects_are_those_that_hold_something(self, deleted: StoredVersion) -> None:
        store, _ = deleted
        empty, gone = SchemaKey("r", "S"), SchemaKey("r", "t")
        store.schemas.add(schema(empty), None, {})
        store.schemas.add(schema(gone, latest=1, next_number=2), version(1, gone), {})
        store.deletion.soft_delete(gone, [1], LATER, revision=0)

        def subjects(
            after: SchemaKey | None = None, count: int = 10, prefix: str = "", registry: str | None = "r", **wanted: bool
        ) -> list[SchemaKey]:
            return list(store.schemas.list_subjects(registry, prefix, after, count, **wanted))

        assert subjects(live=True, deleted=False) == [KEY]
        assert subjects(live=True, deleted=True) == [KEY, gone]
        assert subjects(live=False, deleted=True, after=KEY) == [gone]
        assert subjects(live=True, deleted=True, prefix="t", registry=None) == [gone]
        assert subjects(live=False, deleted=False) == []

    @pytest.fixture
    def referring(self, stored: StoredVersion) -> tuple[RegistryStore, Version, Version]:
        """The store with schema ``t``, whose version refers to version 1 of ``s``, that one, and the target."""
        store, target = stored
        other = SchemaKey("r", "t")
        reference = Reference(name="a.B", registry="r", schema="s", number=1)
        wanted = version(1, other, references=(reference, replace(reference, name="c")), fingerprint="f" * 64)
        return store, present(store.schemas.add(schema(other, latest=1, next_number=2), wanted, {})), target

    def test_references_are_kept_and_found_backwards(self, referring: tuple[RegistryStore, Version, Version]) -> None:
        store, referrer, target = referring
        assert store.versions.get(referrer.id) == referrer
        assert [head.id for head in store.versions.list_referrers(target.id)] == [referrer.id]
        assert store.versions.list_referrers(referrer.id) == []

    def test_a_referenced_version_has_to_be_present(self, stored: StoredVersion) -> None:
        store, _ = stored
        missing = Reference(name="x", registry="r", schema="s", number=9)
        with pytest.raises(MissingReference):
            add(store, version(2, references=(missing,)), revision=0)
        assert present(store.schemas.get(KEY)).revision == 0

    def test_what_is_referred_to_stays(self, referring: tuple[RegistryStore, Version, Version]) -> None:
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

    def test_a_registry_goes_with_the_references_inside_it(self, referring: tuple[RegistryStore, Version, Version]) -> None:
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
