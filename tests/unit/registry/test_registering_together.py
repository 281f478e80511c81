"""Registrations of several callers at once: each gets what it would have got alone."""

import json
import time
from typing import Any
from uuid import RFC_4122, UUID

import pytest

from penstock.registry import identity
from penstock.registry.audit import Actor
from penstock.registry.errors import SchemaNotFound, VersioningDisabled
from penstock.registry.model import RegistryLimits, SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.registry.versions.registration import Registration
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import InvalidSchema

ANNE = Actor(principal="arn:anne", client="10.0.0.1")


@pytest.fixture
def three_schemas(store: RegistryStore) -> RegistryService:
    service = RegistryService(store, limits=RegistryLimits())
    service.registries.create("r")
    for name, mode in (("a", "BACKWARD"), ("b", "BACKWARD"), ("c", "DISABLED")):
        service.schemas.create(
            NewSchema(
                registry="r",
                name=name,
                data_format="AVRO",
                compatibility=CompatibilityMode(mode),
                definition=record(x="int"),
            )
        )
    return service


def record(**fields: str) -> str:
    members = [{"name": name, "type": kind, "default": 0} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def outcomes_of(service: RegistryService, expected: list[Registration]) -> list[Any]:
    """A version or an exception for each."""
    return list(service.versions.register_all(expected))


def asked(name: str, definition: str) -> Registration:
    return Registration(key=SchemaKey("r", name), definition=definition, actor=ANNE)


def test_each_registration_gets_the_result_that_it_would_get_on_its_own(three_schemas: RegistryService) -> None:
    outcomes = outcomes_of(
        three_schemas,
        [
            asked("a", record(x="int", y="int")),
            asked("missing", record(x="int")),
            asked("b", "{"),
            asked("b", record(x="int")),  # version 1, in other words than new
            asked("c", record(y="int")),
            asked("b", record(x="string").replace('"default": 0', '"default": ""')),  # incompatible
        ],
    )
    added, missing, invalid, known, disabled, refused = outcomes
    assert (added.number, added.status) == (2, "AVAILABLE")
    assert isinstance(missing, SchemaNotFound)
    assert isinstance(invalid, InvalidSchema)
    assert (known.number, known.status) == (1, "AVAILABLE")
    assert isinstance(disabled, VersioningDisabled)
    assert (refused.number, refused.status) == (2, "FAILURE")
    assert [three_schemas.versions.get(item.id) for item in (added, known, refused)] == [added, known, refused]


def test_several_of_one_schema_get_numbers_of_their_own(three_schemas: RegistryService) -> None:
    same = record(x="int", y="int")
    outcomes = outcomes_of(three_schemas, [asked("a", same), asked("a", record(x="int", z="int")), asked("a", same)])
    assert [item.number for item in outcomes] == [2, 3, 2]
    assert outcomes[0].id == outcomes[2].id


def test_a_refused_one_that_fits_now_takes_a_new_number(three_schemas: RegistryService) -> None:
    other = record(x="string").replace('"default": 0', '"default": ""')
    [first] = outcomes_of(three_schemas, [asked("a", other)])
    three_schemas.schemas.update(SchemaKey("r", "a"), compatibility=CompatibilityMode.NONE, checkpoint=1)
    [second] = outcomes_of(three_schemas, [asked("a", other)])
    assert (first.status, first.number, second.status, second.number) == ("FAILURE", 2, "AVAILABLE", 3)


def test_changes_are_recorded_as_those_of_who_asked(three_schemas: RegistryService, store: RegistryStore) -> None:
    outcomes_of(three_schemas, [asked("a", record(x="int", y="int")), asked("b", record(x="int", y="int"))])
    entries = store.audit.list(None, 2, resource=None)
    assert {(entry.resource, entry.principal) for entry in entries} == {
        ("schema/r/a", "arn:anne"),
        ("schema/r/b", "arn:anne"),
    }


def test_ids_are_unique_and_in_the_order_of_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [1_792_000_000_000_000_000 + 1_000_000 * number for number in range(300)]
    monkeypatch.setattr(time, "time_ns", iter(moments).__next__)
    ids = [identity.new_version_id() for _ in moments]
    assert ids == sorted(ids)
    assert {(UUID(text).version, UUID(text).variant) for text in ids} == {(7, RFC_4122)}
    assert [UUID(text).int >> 80 for text in ids] == [moment // 1_000_000 for moment in moments]
    monkeypatch.setattr(time, "time_ns", lambda: moments[0])
    assert len({identity.new_version_id() for _ in range(1_000)}) == 1_000
