"""What the registry does beyond Glue's own rules: references, inherited configs, imports, deletion in two steps."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.registry.errors import (
    BadReference,
    IncompatibleSchema,
    MissingReference,
    NotSoftDeleted,
    NumberTaken,
    SchemaIdTaken,
    SchemaNotFound,
    SoftDeleted,
    VersioningDisabled,
    VersionNotFound,
    VersionReferenced,
)
from penstock.registry.model import GLOBAL_SCOPE, NewVersion, Reference, SchemaKey, ScopeConfig, Version
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.registry.versions.references import REFERENCES_TAG, declared_references
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.rules import CONFLUENT_RULES
from tests.unit.registry.registrations import check_compatibility, register

KEY, USER = SchemaKey("r", "s"), SchemaKey("r", "user")
ADDRESS = '{"type":"record","name":"a.Address","fields":[{"name":"city","type":"string"}]}'
PERSON = '{"type":"record","name":"a.Person","fields":[{"name":"home","type":"a.Address"}]}'
TEAM = '{"type":"record","name":"a.Team","fields":[{"name":"lead","type":"a.Person"}]}'


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store)
    service.registries.create("r")
    return service


def record(**fields: Any) -> str:
    members = [
        {"name": name, "type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def create(service: RegistryService, name: str, definition: str | None = None, mode: str | None = None, **more: Any) -> Any:
    """The first version, None without a definition."""
    level = None if mode is None else CompatibilityMode(mode)
    more = {"data_format": "AVRO", **more}
    wanted = NewSchema(registry="r", name=name, definition=definition, compatibility=level, **more)
    return service.schemas.create(wanted)[1]


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
        found = service.versions.find(team.key, TEAM, references=(refer("a.Person", "person"),))
        assert found == team

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
        found = check_compatibility(service, person_key, PERSON, references=(refer("a.Address", "address", 3),))
        assert not found.compatible
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


class TestPolicies:
    def test_the_nearest_that_says_something_holds(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"))

        def effective() -> str:
            return service.schemas.effective(service.schemas.get(KEY)).value

        assert effective() == "BACKWARD"
        service.configs.put(ScopeConfig(scope=GLOBAL_SCOPE, compatibility=CompatibilityMode.NONE))
        assert effective() == "NONE"
        service.configs.put(ScopeConfig(scope="registry/r", mode="READWRITE"))
        assert effective() == "NONE"
        service.configs.put(ScopeConfig(scope="registry/r", compatibility=CompatibilityMode.FULL))
        assert effective() == "FULL"
        service.configs.put(ScopeConfig(scope="schema/r/s", compatibility=CompatibilityMode.FORWARD))
        assert effective() == "FORWARD"
        assert [config.scope for config in service.configs.chain(KEY)] == ["schema/r/s", "registry/r", ""]
        service.schemas.set_compatibility(KEY, CompatibilityMode.DISABLED)
        assert effective() == "DISABLED"
        with pytest.raises(VersioningDisabled):
            register(service, KEY, record(b="int"))
        service.schemas.set_compatibility(KEY, None)
        service.configs.delete("schema/r/s")
        service.configs.delete("registry/r")
        assert register(service, KEY, record(b="string")).status == "AVAILABLE"


class TestRefusals:
    def test_a_refusal_can_write_nothing(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"))
        with pytest.raises(IncompatibleSchema, match="TYPE_MISMATCH") as refused:
            register(service, KEY, record(a="string"), keep_refused=False)
        assert [conflict.version for conflict in refused.value.verdict.conflicts] == [1]
        assert service.schemas.get(KEY).next_number == 2
        kept = register(service, KEY, record(a="string"))
        assert kept.status == "FAILURE"
        with pytest.raises(IncompatibleSchema):
            register(service, KEY, record(a="string"), keep_refused=False)
        assert service.versions.heads(KEY) == service.versions.heads(KEY, deleted=True)
        assert [head.number for head in service.versions.heads(KEY)] == [1]
        with pytest.raises(VersionNotFound):
            service.versions.with_schema_id("r", kept.schema_id)

    def test_the_called_api_brings_its_rules(self, service: RegistryService) -> None:
        create(service, "s", '{"type":"record","name":"R","fields":[]}')
        renamed = '{"type":"record","name":"S","fields":[]}'
        assert check_compatibility(service, KEY, renamed).compatible
        assert not check_compatibility(service, KEY, renamed, rules=CONFLUENT_RULES).compatible

    def test_checking_against_chosen_versions(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"), "NONE")
        register(service, KEY, record(a="string"))
        register(service, KEY, record(b=("int", 0)))

        def compared(against: Any, mode: Any = "BACKWARD") -> Any:
            return check_compatibility(service, KEY, record(a="int"), mode=CompatibilityMode(mode), against=against)

        assert compared([1]).checked == (1,)
        assert compared([1]).compatible
        assert [conflict.version for conflict in compared([1, 2, 3]).conflicts] == [3, 2]
        assert compared([1, 2, 3]).checked == (1, 2, 3)
        assert compared([2], "NONE").compatible
        with pytest.raises(VersionNotFound):
            compared([9])


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


def test_the_record_tells_policies_in_words(service: RegistryService) -> None:
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.FULL_ALL, mode="READONLY"))
    service.configs.put(ScopeConfig(scope="schema/r/s", normalize=True, alias="other"))
    service.configs.put(ScopeConfig(scope="schema/r/s"))
    told = [(entry.operation, entry.resource, entry.outcome) for entry in service.audit.list(size=3).items]
    assert told == [
        ("DeletePolicy", "schema/r/s", "says nothing"),
        ("PutPolicy", "schema/r/s", "normalize true, alias other"),
        ("PutPolicy", "", "compatibility FULL_ALL, mode READONLY"),
    ]


def test_the_record_of_changes_is_paged(service: RegistryService) -> None:
    create(service, "s", record(a="int"))
    first = service.audit.list(size=2)
    assert [entry.operation for entry in first.items] == ["RegisterVersion", "CreateSchema"]
    assert [entry.operation for entry in service.audit.list(size=2, token=first.next_token).items] == ["CreateRegistry"]
    assert [entry.resource for entry in service.audit.list(resource="schema/r/s").items] == ["schema/r/s"] * 2
    with pytest.raises(InvalidInput):
        service.audit.list(token="x")


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
