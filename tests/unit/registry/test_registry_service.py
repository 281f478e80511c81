"""The registry's rules over both stores: registration, policy, checkpoints, deletion, and what a refusal tells."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.registry.errors import (
    BadReference,
    MetadataNotFound,
    ProtectedVersion,
    RegistryFull,
    RegistryNotFound,
    ResourceNotFound,
    SchemaNotFound,
    TooMuchContention,
    VersioningDisabled,
    VersionNotFound,
)
from penstock.registry.metadata import INCOMPATIBILITY_KEY
from penstock.registry.model import RegistryLimits, Schema, SchemaKey, Version
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.registry.versions import history
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import InvalidSchema, NoColumns, TooComplex
from penstock.schema.hive import HiveColumn
from tests.unit.registry.registrations import check_compatibility, register

KEY = SchemaKey("r", "s")
ARN = "arn:aws:glue:us-east-1:000000000000"


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store, limits=RegistryLimits(metadata_per_version=2, tags=2, registries=3))
    service.registries.create("r")
    return service


def record(**fields: Any) -> str:
    """A definition whose fields are ``name=type`` or ``name=(type, default)``."""
    members = [
        {"name": name, "type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def create(
    service: RegistryService, mode: str = "BACKWARD", definition: str | None = None, **more: Any
) -> tuple[Schema, Any]:
    """The schema and its first version, None without a definition."""
    more = {"registry": "r", "name": "s", **more}
    wanted = NewSchema(data_format="AVRO", compatibility=CompatibilityMode(mode), definition=definition, **more)
    return service.schemas.create(wanted)


def numbers(service: RegistryService) -> list[tuple[int, str]]:
    return [(head.number, head.status) for head in service.versions.list(KEY, size=100).items]


def test_a_definition_is_one_version_in_every_spelling(service: RegistryService) -> None:
    _, first = create(service, definition='{"namespace":"n","type":"record","name":"R","fields":[]}')
    same = '{"type": "record", "name": "n.R", "fields": []}'
    assert register(service, KEY, same) == first
    assert service.versions.find(KEY, same).definition == first.definition
    assert numbers(service) == [(1, "AVAILABLE")]


def test_thirty_two_callers_register_one_version(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    barrier, seen, wrong = threading.Barrier(32), [], []

    def work(index: Any) -> None:
        spaced = record(a="int", b=("int", 0)).replace(",", "," + " " * index)
        barrier.wait()
        try:
            seen.append(register(service, KEY, spaced))
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len({version.id for version in seen}) == 1
    assert len(seen) == 32
    assert numbers(service) == [(1, "AVAILABLE"), (2, "AVAILABLE")]


def test_two_services_on_one_store_number_without_gaps(store: RegistryStore) -> None:
    """Two services share no lock, as two processes do not: they meet at the schema's revision."""
    services = [RegistryService(store) for _ in range(2)]
    services[0].registries.create("r")
    create(services[0], "NONE", record())
    barrier, wrong = threading.Barrier(16), []

    def work(index: Any) -> None:
        barrier.wait()
        try:
            register(services[index % 2], KEY, record(**{f"f{index % 8}": "int"}))
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [number for number, _ in numbers(services[0])] == list(range(1, 10))


def test_an_incompatible_definition_becomes_a_refused_version(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string", b="int"))
    assert (refused.number, refused.status) == (2, "FAILURE")
    assert refused.verdict is not None
    assert [(item.direction, item.version, item.incompatibility.path) for item in refused.verdict.conflicts] == [
        ("BACKWARD", 1, "/a"),
        ("BACKWARD", 1, "/b"),
    ]
    assert register(service, KEY, record(a="string", b="int")) == refused
    assert service.versions.find(KEY, record(a="string", b="int")).status == "FAILURE"
    assert service.versions.get(refused.id).verdict == refused.verdict
    schema = service.schemas.get(KEY)
    assert (schema.latest, schema.next_number) == (1, 3)
    assert service.versions.get_numbered(KEY, None).number == 1


def test_refused_versions_count_for_no_check(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    register(service, KEY, record(a="string"))
    assert register(service, KEY, record(a="long")).status == "AVAILABLE"
    assert numbers(service) == [(1, "AVAILABLE"), (2, "FAILURE"), (3, "AVAILABLE")]


def test_a_refused_definition_gets_a_new_number_once_the_policy_lets_it(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string"))
    service.schemas.update(KEY, compatibility=CompatibilityMode.NONE, latest=True)
    accepted = register(service, KEY, record(a="string"))
    assert (accepted.number, accepted.status) == (3, "AVAILABLE")
    with pytest.raises(VersionNotFound):
        service.versions.get(refused.id)
    assert numbers(service) == [(1, "AVAILABLE"), (3, "AVAILABLE")]


def test_a_refusal_is_logged(service: RegistryService, caplog: pytest.LogCaptureFixture) -> None:
    create(service, definition=record(a="int"))
    with caplog.at_level("WARNING", logger="penstock.registry"):
        register(service, KEY, record(a="string"))
    assert "version 2 refused" in caplog.text
    assert "TYPE_MISMATCH at /a" in caplog.text


def test_checking_compatibility_writes_nothing(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    assert not check_compatibility(service, KEY, record(a="string")).compatible
    assert check_compatibility(service, KEY, record(a="long")).checked == (1,)
    assert numbers(service) == [(1, "AVAILABLE")]


def test_all_reaches_back_to_the_checkpoint_and_no_further(service: RegistryService) -> None:
    create(service, "NONE", record(a="int"))
    register(service, KEY, record(a="string"))
    register(service, KEY, record(a="string", b=("int", 0)))
    service.schemas.update(KEY, compatibility=CompatibilityMode.BACKWARD_ALL, checkpoint=2)
    assert check_compatibility(service, KEY, record(a="string")).checked == (2, 3)
    assert register(service, KEY, record(a="string", c=("int", 0))).status == "AVAILABLE"
    service.schemas.update(KEY, checkpoint=1)
    assert not check_compatibility(service, KEY, record(a="string", d=("int", 0))).compatible
    assert service.schemas.get(KEY).checkpoint == 1


def test_a_history_that_takes_too_long_to_compare_with_is_refused(
    service: RegistryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(service, "FULL_ALL", record(a="int"))
    register(service, KEY, record(a="int", b=("int", 0)))
    monkeypatch.setattr(history, "_SECONDS", -1.0)
    with pytest.raises(TooComplex, match=r"all 2 versions: .* for 0 of them, version 2 being the next"):
        register(service, KEY, record(a="int", c=("int", 0)))
    assert numbers(service) == [(1, "AVAILABLE"), (2, "AVAILABLE")]


def test_a_long_history_is_read_a_few_versions_at_a_time(service: RegistryService, monkeypatch: pytest.MonkeyPatch) -> None:
    create(service, "NONE", record(a="int"))
    for number in range(6):
        register(service, KEY, record(a="int", **{f"f{number}": ("int", 0)}))
    service.deletion.delete(KEY, range(4, 5))
    service.schemas.update(KEY, compatibility=CompatibilityMode.BACKWARD_ALL, checkpoint=2)
    read: list[list[int]] = []
    scan = service.versions._store.scan

    def noted(*asked: Any, **named: Any) -> Sequence[Version]:
        found = scan(*asked, **named)
        read.append([version.number for version in found])
        return found

    monkeypatch.setattr(history, "_TEXTS", 2)
    monkeypatch.setattr(service.versions._store, "scan", noted)
    assert check_compatibility(service, KEY, record(a="int", z=("int", 0))).checked == (2, 3, 5, 6, 7)
    assert read == [[6, 7], [3, 5], [2]]
    found = check_compatibility(service, KEY, record(a="string"))
    assert [conflict.version for conflict in found.conflicts] == [7, 6, 5, 3, 2]


def test_disabled_takes_no_new_versions(service: RegistryService) -> None:
    _, first = create(service, "DISABLED", record(a="int"))
    assert register(service, KEY, record(a="int")) == first
    with pytest.raises(VersioningDisabled, match="DISABLED"):
        register(service, KEY, record(a="long"))


def test_a_schema_without_a_definition_takes_its_first_by_registration(service: RegistryService) -> None:
    schema, version = create(service, "DISABLED")
    assert (schema.latest, version) == (None, None)
    with pytest.raises(VersionNotFound):
        service.versions.get_numbered(KEY, None)
    assert register(service, KEY, record(a="int")).number == 1


def test_invalid_definitions_are_refused_outright(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    for call in (partial(register, service), service.versions.find, partial(check_compatibility, service)):
        with pytest.raises(InvalidSchema, match="not JSON"):
            call(KEY, "{")
    with pytest.raises(InvalidSchema):
        create(service, name="t", definition="{")
    with pytest.raises(SchemaNotFound):
        service.schemas.get(SchemaKey("r", "t"))
    assert "not JSON" in str(service.versions.check("AVRO", "{"))
    assert service.versions.check("AVRO", '"int"') is None


def test_updates(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string"))
    with pytest.raises(InvalidInput, match="checkpoint"):
        service.schemas.update(KEY, compatibility=CompatibilityMode.FULL)
    with pytest.raises(InvalidInput, match="changes nothing"):
        service.schemas.update(KEY)
    with pytest.raises(InvalidInput, match="FAILURE and cannot be a checkpoint"):
        service.schemas.update(KEY, checkpoint=refused.number)
    with pytest.raises(VersionNotFound):
        service.schemas.update(KEY, checkpoint=9)
    with pytest.raises(SchemaNotFound):
        service.schemas.update(SchemaKey("r", "x"), description="d")
    register(service, KEY, record(a="long"))
    service.schemas.update(KEY, compatibility=CompatibilityMode.FULL, latest=True, description="new")
    schema = service.schemas.get(KEY)
    assert (schema.compatibility, schema.checkpoint, schema.description) == (CompatibilityMode.FULL, 3, "new")


def test_deleting_versions(service: RegistryService) -> None:
    create(service, "NONE", record())
    for index in range(2, 6):
        register(service, KEY, record(**{f"f{index}": "int"}))
    service.schemas.update(KEY, checkpoint=3)
    with pytest.raises(ProtectedVersion, match="is the checkpoint"):
        service.deletion.delete(KEY, range(2, 5))
    with pytest.raises(ProtectedVersion, match="first version"):
        service.deletion.delete(KEY, range(1, 3))
    with pytest.raises(InvalidInput, match="26 versions"):
        service.deletion.delete(KEY, range(4, 30))
    done = service.deletion.delete(KEY, range(4, 8))
    assert (list(done.deleted), list(done.missing)) == ([4, 5], [6, 7])
    assert [number for number, _ in numbers(service)] == [1, 2, 3]
    assert register(service, KEY, record(f4="int")).number == 6


def test_lists_survive_writes_between_pages(service: RegistryService) -> None:
    for name in "bdf":
        create(service, name=name)
    page = service.schemas.list("r", size=2)
    assert [schema.key.name for schema in page.items] == ["b", "d"]
    create(service, name="a")
    create(service, name="e")
    service.schemas.delete(SchemaKey("r", "d"))
    rest = service.schemas.list("r", token=page.next_token, size=2)
    assert [schema.key.name for schema in rest.items] == ["e", "f"]
    assert rest.next_token is None


@pytest.mark.parametrize("token", ["nonsense", "W10=", "WyJyZWdpc3RyaWVzIiwgImEiXQ==", "x" * 5_000])
def test_tokens_of_other_listings_are_refused(service: RegistryService, token: str) -> None:
    with pytest.raises(InvalidInput, match="NextToken"):
        service.schemas.list("r", token=token)


def test_the_default_registry_is_made_at_its_first_use(service: RegistryService) -> None:
    create(service, registry=None)
    create(service, registry=None, name="t")
    assert [item.name for item in service.registries.list().items] == ["default-registry", "r"]
    with pytest.raises(RegistryNotFound):
        create(service, registry="missing")


def test_missing_things_are_told_in_the_words_the_java_serde_matches(service: RegistryService) -> None:
    with pytest.raises(SchemaNotFound, match=r"^Schema is not found\."):
        service.versions.find(KEY, '"int"')
    with pytest.raises(SchemaNotFound, match=r"^Schema is not found\."):
        service.versions.find(SchemaKey("nowhere", "s"), '"int"')
    create(service, definition=record(a="int"))
    with pytest.raises(VersionNotFound, match=r"^Schema version is not found\."):
        service.versions.find(KEY, '"int"')


def test_metadata_shows_why_a_version_was_refused(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string", b="int"))
    service.metadata.put(refused, "team", "x")
    page = service.metadata.query(refused)
    assert [(key, [pair.value for pair in pairs]) for key, pairs in page.items] == [
        (INCOMPATIBILITY_KEY, ["TYPE_MISMATCH@/a:BACKWARD:1", "READER_FIELD_MISSING_DEFAULT_VALUE@/b:BACKWARD:1"]),
        ("team", ["x"]),
    ]
    assert [key for key, _ in service.metadata.query(refused, [("team", None)]).items] == ["team"]
    first = service.metadata.query(refused, size=1)
    assert [key for key, _ in service.metadata.query(refused, token=first.next_token, size=1).items] == ["team"]
    with pytest.raises(InvalidInput, match="keeps for itself"):
        service.metadata.put(refused, INCOMPATIBILITY_KEY, "x")


def test_metadata_limits(service: RegistryService) -> None:
    _, version = create(service, definition=record())
    service.metadata.put(version, "k", "1")
    service.metadata.put(version, "k", "2")
    with pytest.raises(RegistryFull):
        service.metadata.put(version, "k", "3")
    service.metadata.remove(version, "k", "1")
    with pytest.raises(MetadataNotFound):
        service.metadata.remove(version, "k", "1")


def test_the_difference_shows_the_verdict_and_no_mere_spelling(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    register(service, KEY, record(a="string"))
    (operation,) = json.loads(service.diff(KEY, None, 2))
    (refused,) = operation.pop("penstock:refused")
    assert operation == {"op": "replace", "path": "/fields/0/type", "value": "string"}
    assert refused["version"] == 2
    assert refused["verdict"].startswith("Incompatible under BACKWARD:\n- reading data of version 1: TYPE_MISMATCH")
    assert service.diff(KEY, 1, 1) == "[]"


def test_tags(service: RegistryService) -> None:
    create(service, tags={"a": "1"})
    tags = service.tags
    assert tags.get(f"{ARN}:schema/r/s") == {"a": "1"}
    tags.add(f"{ARN}:registry/r", {"b": "2"})
    tags.remove(f"{ARN}:registry/r", ["b"])
    assert tags.get(f"{ARN}:registry/r") == {}
    with pytest.raises(InvalidInput, match="aws:"):
        tags.add(f"{ARN}:registry/r", {"aws:x": "2"})
    with pytest.raises(RegistryFull):
        tags.add(f"{ARN}:schema/r/s", {"b": "2", "c": "3"})
    for missing in ("registry/x", "schema/r/x", "table/d/t"):
        with pytest.raises(ResourceNotFound):
            tags.get(f"{ARN}:{missing}")
    with pytest.raises(ResourceNotFound):
        tags.get("arn:aws:glue:eu-west-1:000000000000:registry/r")


def test_limits_of_registries_and_versions(store: RegistryStore) -> None:
    service = RegistryService(store, limits=RegistryLimits(registries=1, versions_per_schema=1))
    service.registries.create("r")
    with pytest.raises(RegistryFull, match=r"1 registries\. Delete some that are no longer needed first\."):
        service.registries.create("q")
    create(service, "NONE", record())
    with pytest.raises(RegistryFull, match="1 versions"):
        register(service, KEY, record(a="int"))


def test_endless_contention_ends_with_an_error(
    service: RegistryService, store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(service, "NONE", record())
    monkeypatch.setattr(type(store.versions), "add", lambda _self, new: [None] * len(new))
    with pytest.raises(TooMuchContention):
        register(service, KEY, record(a="int"))


@dataclass(frozen=True)
class Reference:
    schema_version_id: str | None = None
    schema_arn: str | None = None
    registry_name: str | None = None
    schema_name: str | None = None
    schema_version_number: int | None = None


def test_columns_of_a_tables_reference(service: RegistryService) -> None:
    _, first = create(service, definition=record(a="int"))
    second = register(service, KEY, record(a="int", b=("string", "")))
    refused = register(service, KEY, record(a="string"))
    one, two = HiveColumn(name="a", type="int"), HiveColumn(name="b", type="string")
    columns = service.columns_of
    assert columns(Reference(schema_version_id=first.id)) == (one,)
    assert columns(Reference(schema_arn=f"{ARN}:schema/r/s", schema_version_number=2)) == (one, two)
    assert columns(Reference(registry_name="r", schema_name="s", schema_version_number=1)) == (one,)
    assert columns(Reference(registry_name="r", schema_name="s")) == (one, two)
    with pytest.raises(BadReference, match="FAILURE"):
        columns(Reference(schema_version_id=refused.id))
    with pytest.raises(BadReference, match="names no schema"):
        columns(Reference(schema_name="s"))
    create(service, name="plain", definition='"int"')
    with pytest.raises(NoColumns):
        columns(Reference(registry_name="r", schema_name="plain"))
    assert second.number == 2


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({}, "names no schema"),
        ({"name": "s"}, "together with RegistryName"),
        ({"schema_arn": "x"}, "is not an ARN"),
        ({"schema_arn": f"{ARN}:registry/r"}, "not the ARN of a schema"),
        ({"schema_arn": "arn:aws:s3:::bucket"}, "an ARN of s3"),
        ({"schema_arn": f"{ARN}:schema/r/s", "name": "t"}, "both cannot be provided"),
        ({"schema_arn": f"{ARN}:schema/r/s", "registry": "r"}, "both cannot be provided"),
    ],
)
def test_bad_schema_ids(service: RegistryService, wanted: dict[str, str], reason: str) -> None:
    with pytest.raises(BadReference, match=reason):
        service.identity.schema(**wanted)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({}, "names no registry"),
        ({"registry_arn": f"{ARN}:schema/r/s"}, "not the ARN of a registry"),
        ({"registry_arn": f"{ARN}:registry/r", "name": "r"}, "both cannot be provided"),
    ],
)
def test_bad_registry_ids(service: RegistryService, wanted: dict[str, str], reason: str) -> None:
    with pytest.raises(BadReference, match=reason):
        service.identity.registry(**wanted)
