"""References between schemas, in every format."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.registry.errors import (
    BadReference,
    MissingReference,
    VersionReferenced,
)
from penstock.registry.model import NewVersion, Reference, SchemaKey, Version
from penstock.registry.service import RegistryService
from penstock.registry.versions.references import REFERENCES_TAG, declared_references
from penstock.schema.compatibility import CompatibilityMode
from tests.unit.registry.confluent.definitions import USER, create, record
from tests.unit.registry.registrations import check_compatibility, register

ADDRESS = '{"type":"record","name":"a.Address","fields":[{"name":"city","type":"string"}]}'


PERSON = '{"type":"record","name":"a.Person","fields":[{"name":"home","type":"a.Address"}]}'


TEAM = '{"type":"record","name":"a.Team","fields":[{"name":"lead","type":"a.Person"}]}'


def refer(name: str, schema: str, number: int = 1) -> Reference:
    return Reference(name=name, registry="r", schema=schema, number=number)


class TestReferences:
    @pytest.fixture
    def chain(self, service: RegistryService) -> tuple[Version, Version, Version]:
        """Address, a person that refers to it, a team that refers to the person."""
        address = create(service, "address", ADDRESS)
        person = create(service, "person", PERSON, references=(refer("a.Address", "address"),))
        create(service, "team")
        team = register(service, SchemaKey("r", "team"), TEAM, references=(refer("a.Person", "person"),))
        return address, person, team

    def test_a_definition_builds_on_others_over_any_number_of_steps(
        self, service: RegistryService, chain: tuple[Version, Version, Version]
    ) -> None:
        _, person, team = chain
        assert "city" in json.dumps(service.versions.parsed(team).canonical)
        assert service.versions.get(team.id).references == (refer("a.Person", "person"),)
        assert [head.id for head in service.versions.referencing(person)] == [team.id]
        version = service.versions.find(team.key, TEAM, references=(refer("a.Person", "person"),))
        assert version == team

    def test_a_reference_names_something_usable(
        self, service: RegistryService, chain: tuple[Version, Version, Version]
    ) -> None:
        with pytest.raises(MissingReference, match=r"version 7 of schema person.* Register the referenced"):
            register(service, USER._replace(name="team"), TEAM, references=(refer("a.Person", "person", 7),))
        create(service, "plain", record(a="int"), "BACKWARD")
        refused = register(service, SchemaKey("r", "plain"), record(a="string"))
        with pytest.raises(MissingReference, match="FAILURE"):
            create(service, "x", TEAM, references=(refer("a.Person", "plain", refused.number),))
        service.deletion.soft_all(SchemaKey("r", "team"))
        service.deletion.soft(SchemaKey("r", "person"), 1)
        with pytest.raises(MissingReference, match="deleted"):
            create(service, "x", TEAM, references=(refer("a.Person", "person"),))
        assert service.schemas.subjects("r", prefix="x", deleted=True) == []

    def test_compatibility_looks_through_references(
        self, service: RegistryService, chain: tuple[Version, Version, Version]
    ) -> None:
        address_key, person_key = SchemaKey("r", "address"), SchemaKey("r", "person")
        wider = ADDRESS.replace('"string"', '["null","string"]')
        assert register(service, address_key, wider).number == 2
        broken = ADDRESS.replace('"string"', '"int"')
        service.schemas.set_compatibility(address_key, CompatibilityMode.NONE)
        assert register(service, address_key, broken).number == 3
        compatibility_verdict = check_compatibility(
            service, person_key, PERSON, references=(refer("a.Address", "address", 3),)
        )
        assert not compatibility_verdict.compatible
        assert check_compatibility(service, person_key, PERSON, references=(refer("a.Address", "address", 2),)).compatible

    def test_what_others_build_on_is_not_deleted(
        self, service: RegistryService, chain: tuple[Version, Version, Version]
    ) -> None:
        with pytest.raises(VersionReferenced, match="r/person version 1"):
            service.schemas.delete(SchemaKey("r", "address"))
        with pytest.raises(VersionReferenced):
            service.deletion.soft(SchemaKey("r", "person"), 1)
        with pytest.raises(VersionReferenced):
            service.deletion.soft_all(SchemaKey("r", "address"))
        service.registries.delete("r")

    def test_one_name_means_one_text(self, service: RegistryService, chain: tuple[Version, Version, Version]) -> None:
        service.schemas.set_compatibility(SchemaKey("r", "address"), CompatibilityMode.NONE)
        register(service, SchemaKey("r", "address"), ADDRESS.replace("city", "town"))
        both = (refer("a.Address", "address", 2), refer("a.Person", "person"))
        with pytest.raises(BadReference, match="two different"):
            create(service, "x", TEAM, references=both)

    def test_they_are_bounded(self, service: RegistryService) -> None:
        create(service, "c0", ADDRESS)
        for number in range(1, 102):
            before = service.versions.get_numbered(SchemaKey("r", f"c{number - 1}"), 1)
            made = replace(
                before, id=f"{number:036}", key=SchemaKey("r", f"c{number}"), schema_id=0, fingerprint=str(number)
            )
            create(service, f"c{number}")
            refers = (refer(f"n{number}", f"c{number - 1}"),)
            service.versions._store.add([NewVersion(version=replace(made, references=refers), revision=0)])
        with pytest.raises(BadReference, match="more than 100"):
            create(service, "x", TEAM, references=(refer("n", "c101"),))

    def test_glue_declares_them_in_tags(self, service: RegistryService, chain: tuple[Version, Version, Version]) -> None:
        tags = {REFERENCES_TAG: "a.Person=person@1", "team": "data"}
        declared = create(service, "tagged", TEAM, tags=tags)
        assert declared.references == (refer("a.Person", "person"),)
        assert declared.schema_id == chain[2].schema_id
        again = register(service, declared.key, TEAM.replace("lead", "boss"))
        assert again.references == declared.references
        assert service.versions.find(declared.key, TEAM) == declared


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, ()),
        ({"other": "x"}, ()),
        ({REFERENCES_TAG: "a.B=s@1"}, (("a.B", "r", "s", 1),)),
        ({REFERENCES_TAG: " a=q/s.t-$#@12 ; b=s@1;"}, (("a", "q", "s.t-$#", 12), ("b", "r", "s", 1))),
        ({f"{REFERENCES_TAG}:2": "b=s@2", REFERENCES_TAG: "a=s@1"}, (("a", "r", "s", 1), ("b", "r", "s", 2))),
        ({REFERENCES_TAG: "http://x/y?a=b%3Bc=s@1"}, (("http://x/y?a=b;c", "r", "s", 1),)),
    ],
)
def test_declared_references(tags: dict[str, str], expected: tuple[Any, ...]) -> None:
    assert tuple((item.name, item.registry, item.schema, item.number) for item in declared_references(tags, "r")) == expected


@pytest.mark.parametrize("text", ["x", "a=s", "a=s@0", "a=s@x", "=s@1", "a=r/s/t@1", "a=s@1234567", "a=@1"])
def test_a_malformed_reference_is_refused(text: str) -> None:
    with pytest.raises(BadReference, match="is not a reference"):
        declared_references({REFERENCES_TAG: text}, "r")


@pytest.mark.parametrize(
    ("data_format", "base", "name", "user"),
    [
        (
            "JSON",
            '{"type":"object","properties":{"city":{"type":"string"}}}',
            "address.json",
            '{"type":"object","properties":{"home":{"$ref":"address.json"}}}',
        ),
        (
            "PROTOBUF",
            'syntax = "proto3"; package a; message Address { string city = 1; }',
            "a/address.proto",
            'syntax = "proto3"; package b; import "a/address.proto"; message Person { a.Address home = 1; }',
        ),
    ],
)
def test_the_other_formats_build_on_references_too(
    service: RegistryService, data_format: str, base: str, name: str, user: str
) -> None:
    create(service, "address", base, data_format=data_format)
    with pytest.raises(InvalidInput):
        create(service, "person", user, data_format=data_format)
    tags = {REFERENCES_TAG: f"{name}=address@1"}
    person = create(service, "person", user, data_format=data_format, tags=tags)
    assert person.references == (refer(name, "address"),)
    assert service.versions.find(SchemaKey("r", "person"), user) == person
    # Whoever reads it as one text finds it by that, and registers nothing new.
    alone = service.standalone_text(person)
    assert alone != user
    for references in (None, ()):
        assert service.versions.find(SchemaKey("r", "person"), alone, references=references) == person
        assert register(service, SchemaKey("r", "person"), alone, references=references) == person
    with pytest.raises(VersionReferenced):
        service.schemas.delete(SchemaKey("r", "address"))
