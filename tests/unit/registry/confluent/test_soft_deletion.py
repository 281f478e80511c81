"""Deletion in two steps."""

import pytest

from penstock.registry.errors import (
    IncompatibleSchema,
    NotSoftDeleted,
    SchemaNotFound,
    SoftDeleted,
    VersionNotFound,
)
from penstock.registry.service import RegistryService
from tests.unit.registry.confluent.definitions import KEY, create, record
from tests.unit.registry.registrations import register


class TestDeletion:
    @pytest.fixture
    def two(self, service: RegistryService) -> RegistryService:
        create(service, "s", record(a="int"))
        register(service, KEY, record(a="int", b=("int", 0)))
        return service

    def test_softly_and_back(self, two: RegistryService) -> None:
        gone = two.deletion.soft(KEY, 2)
        with pytest.raises(SoftDeleted):
            two.deletion.soft(KEY, 2)
        with pytest.raises(VersionNotFound):
            two.versions.get_numbered(KEY, 2)
        with pytest.raises(VersionNotFound):
            two.versions.find(KEY, gone.definition)
        assert two.versions.get_numbered(KEY, 2, deleted=True).deleted is not None
        assert two.versions.find(KEY, gone.definition, deleted=True).id == gone.id
        assert two.versions.get(gone.id).definition == gone.definition
        assert two.versions.get_numbered(KEY, None).number == 1
        back = register(two, KEY, gone.definition)
        assert (back.id, back.schema_id, back.number) == (gone.id, gone.schema_id, 3)
        assert [head.number for head in two.versions.heads(KEY, deleted=True)] == [1, 3]

    def test_what_was_deleted_counts_for_no_check_and_its_text_stays_readable(self, two: RegistryService) -> None:
        two.deletion.soft_all(KEY)
        changed = register(two, KEY, record(a="string"))
        assert (changed.number, changed.status) == (3, "AVAILABLE")
        with pytest.raises(IncompatibleSchema):
            register(two, KEY, record(a="int"))
        assert two.versions.get_numbered(KEY, 1, deleted=True).status == "AVAILABLE"

    def test_for_good_only_after_softly(self, two: RegistryService) -> None:
        with pytest.raises(NotSoftDeleted):
            two.deletion.purge(KEY, 2)
        with pytest.raises(NotSoftDeleted):
            two.deletion.purge_all(KEY)
        two.deletion.soft(KEY, 1)
        assert two.deletion.purge(KEY, 1) == 1
        assert [head.number for head in two.versions.heads(KEY, deleted=True)] == [2]
        assert two.deletion.soft_all(KEY) == [2]
        with pytest.raises(SoftDeleted):
            two.deletion.soft_all(KEY)
        assert two.deletion.purge_all(KEY) == [2]
        with pytest.raises(SchemaNotFound):
            two.schemas.get(KEY)
        with pytest.raises(SchemaNotFound):
            two.deletion.soft_all(KEY)

    def test_glues_listing_and_deletion_see_no_soft_deleted_version(self, two: RegistryService) -> None:
        two.deletion.soft(KEY, 2)
        assert [head.number for head in two.versions.list(KEY).items] == [1]
        assert two.deletion.delete(KEY, range(2, 4)).missing == [2, 3]
        assert two.versions.get_numbered(KEY, 2, deleted=True).number == 2
