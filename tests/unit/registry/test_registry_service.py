"""The registry's rules beside registration: updates, deletion, lists, metadata, tags, limits, ids."""

import json
from dataclasses import dataclass

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
    VersionNotFound,
)
from penstock.registry.metadata import INCOMPATIBILITY_KEY
from penstock.registry.model import RegistryLimits, SchemaKey
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.schema.columns import HiveColumn
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import NoColumns
from tests.unit.registry.definitions import KEY, create, numbers, record
from tests.unit.registry.registrations import register

ARN = "arn:aws:glue:us-east-1:000000000000"


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


def test_messages_of_missing_resources_are_those_that_the_java_serde_matches(service: RegistryService) -> None:
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
    ("expected", "reason"),
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
def test_bad_schema_ids(service: RegistryService, expected: dict[str, str], reason: str) -> None:
    with pytest.raises(BadReference, match=reason):
        service.identity.schema(**expected)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({}, "names no registry"),
        ({"registry_arn": f"{ARN}:schema/r/s"}, "not the ARN of a registry"),
        ({"registry_arn": f"{ARN}:registry/r", "name": "r"}, "both cannot be provided"),
    ],
)
def test_bad_registry_ids(service: RegistryService, expected: dict[str, str], reason: str) -> None:
    with pytest.raises(BadReference, match=reason):
        service.identity.registry(**expected)
