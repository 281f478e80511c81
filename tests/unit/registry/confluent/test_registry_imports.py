"""Versions that bring their ids along."""

import pytest

from penstock.registry.errors import (
    NumberTaken,
    SchemaIdTaken,
)
from penstock.registry.service import RegistryService
from tests.unit.registry.confluent.definitions import KEY, create, record
from tests.unit.registry.registrations import register


class TestImport:
    def test_ids_and_numbers_are_kept(self, service: RegistryService) -> None:
        first = create(service, "s", record(a="int"), schema_id=70, number=3)
        assert (first.schema_id, first.number) == (70, 3)
        early = register(service, KEY, record(a="string"), schema_id=60, number=1, checked=False)
        assert (early.schema_id, early.number, early.status) == (60, 1, "AVAILABLE")
        assert service.schemas.get(KEY).latest == 3
        same = register(service, KEY, record(a="int"), schema_id=70, number=3, checked=False)
        assert same == first
        assert register(service, KEY, record(a="int", b=("int", 0))).schema_id == 71
        assert service.versions.with_schema_id("r", 60) == early

    def test_conflicts(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"), schema_id=70, number=3)

        def imported(definition: str, **more: int) -> None:
            register(service, KEY, definition, checked=False, **more)

        with pytest.raises(NumberTaken, match=r"Version 3 of schema s .* is another definition"):
            imported(record(b="int"), number=3)
        with pytest.raises(NumberTaken, match="it is version 3 already"):
            imported(record(a="int"), number=4)
        with pytest.raises(SchemaIdTaken, match="Id 70 is another schema's"):
            imported(record(b="int"), schema_id=70)
        with pytest.raises(SchemaIdTaken, match="has id 70, not 71"):
            imported(record(a="int"), schema_id=71)
        assert [head.number for head in service.versions.heads(KEY)] == [3]
