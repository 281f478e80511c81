"""Schema versions through boto3: order of the Java serde's calls, refusals, other formats, soft deletion."""

import json
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest

from penstock.api.aws.registry.operations import operations
from penstock.registry.errors import VersionNotFound
from penstock.registry.model import SchemaKey
from penstock.registry.service import RegistryService
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.registry.registry_client import SCHEMA, V1, refused

V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'


BROKEN = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'


def test_glues_clients_get_a_definition_with_its_references_resolved(stored: SimpleNamespace) -> None:
    glue = stored.glue
    order = '{"type":"record","name":"Order","fields":[{"name":"r","type":"R"},{"name":"again","type":"R"}]}'
    made = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="order", DataFormat="AVRO", Compatibility="BACKWARD",
        SchemaDefinition=order, Tags={"penstock:references": "R=r/s@1"},
    )  # fmt: skip
    read = glue.get_schema_version(SchemaVersionId=made["SchemaVersionId"])
    parsed: Any = fastavro.parse_schema(json.loads(read["SchemaDefinition"]))
    fields = parsed["fields"]
    assert [field["type"] for field in fields] == [{**json.loads(V1), "name": "R"}, "R"]
    for text in (order, read["SchemaDefinition"]):
        schema_by_definition = glue.get_schema_by_definition(
            SchemaId={**SCHEMA, "SchemaName": "order"}, SchemaDefinition=text
        )
        assert schema_by_definition["SchemaVersionId"] == made["SchemaVersionId"]


def test_the_order_of_calls_of_aws_java_serde(glue: Any) -> None:
    """GetSchemaByDefinition, CreateSchema with empty tags, RegisterSchemaVersion, metadata; its choices by message text."""
    refused(
        glue.get_schema_by_definition, "EntityNotFoundException", "Schema is not found.",
        SchemaId={"RegistryName": "default-registry", "SchemaName": "t"}, SchemaDefinition=V1,
    )  # fmt: skip
    made = glue.create_schema(SchemaName="t", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1, Tags={})
    key = {"RegistryName": "default-registry", "SchemaName": "t"}
    assert made["RegistryName"] == "default-registry"
    refused(
        glue.get_schema_by_definition,
        "EntityNotFoundException",
        "Schema version is not found.",
        SchemaId=key,
        SchemaDefinition=V2,
    )
    registered = glue.register_schema_version(SchemaId=key, SchemaDefinition=V2)
    assert (registered["VersionNumber"], registered["Status"]) == (2, "AVAILABLE")
    glue.put_schema_version_metadata(
        SchemaVersionId=registered["SchemaVersionId"],
        MetadataKeyValue={"MetadataKey": "x-amz-meta-transport", "MetadataValue": "topic"},
    )
    respelled = json.dumps(json.loads(V2), indent=3, sort_keys=True)
    schema_by_definition = glue.get_schema_by_definition(SchemaId=key, SchemaDefinition=respelled)
    assert (schema_by_definition["SchemaVersionId"], schema_by_definition["Status"]) == (
        registered["SchemaVersionId"],
        "AVAILABLE",
    )


def test_versions(stored: SimpleNamespace) -> None:
    glue = stored.glue
    assert glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V1)["SchemaVersionId"] == stored.id
    second = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V2)
    by_id = glue.get_schema_version(SchemaVersionId=second["SchemaVersionId"])
    latest = glue.get_schema_version(SchemaId=SCHEMA, SchemaVersionNumber={"LatestVersion": True})
    for answer in (by_id, latest):
        assert (answer["SchemaDefinition"], answer["VersionNumber"], answer["SchemaArn"]) == (V2, 2, stored.arn)
    page = glue.list_schema_versions(SchemaId=SCHEMA, MaxResults=1)
    rest = glue.list_schema_versions(SchemaId=SCHEMA, NextToken=page["NextToken"])
    assert [item["VersionNumber"] for item in page["Schemas"] + rest["Schemas"]] == [1, 2]
    errors = glue.delete_schema_versions(SchemaId=SCHEMA, Versions="2-3")["SchemaVersionErrors"]
    assert [(item["VersionNumber"], item["ErrorDetails"]["ErrorCode"]) for item in errors] == [
        (3, "EntityNotFoundException")
    ]
    refused(
        glue.get_schema_version, "EntityNotFoundException", "Schema version is not found.",
        SchemaVersionId=second["SchemaVersionId"],
    )  # fmt: skip
    refused(glue.delete_schema_versions, "InvalidInputException", "is the checkpoint", SchemaId=SCHEMA, Versions="1")
    refused(glue.delete_schema_versions, "InvalidInputException", "not a range", SchemaId=SCHEMA, Versions="3-2")
    refused(glue.get_schema_version, "InvalidInputException", "names no schema version", SchemaId=SCHEMA)
    refused(
        glue.get_schema_version, "InvalidInputException", "either a VersionNumber or LatestVersion", SchemaId=SCHEMA,
        SchemaVersionNumber={"LatestVersion": True, "VersionNumber": 1},
    )  # fmt: skip


def test_a_refused_version_has_its_reason_in_two_places(stored: SimpleNamespace) -> None:
    glue = stored.glue
    answer = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=BROKEN)
    assert (answer["Status"], answer["VersionNumber"]) == ("FAILURE", 2)
    assert glue.get_schema_version(SchemaVersionId=answer["SchemaVersionId"])["Status"] == "FAILURE"
    metadata = glue.query_schema_version_metadata(SchemaVersionId=answer["SchemaVersionId"])["MetadataInfoMap"]
    assert metadata["penstock:incompatibility"]["MetadataValue"] == "TYPE_MISMATCH@/a:BACKWARD:1"
    diff = glue.get_schema_versions_diff(
        SchemaId=SCHEMA,
        FirstSchemaVersionNumber={"LatestVersion": True},
        SecondSchemaVersionNumber={"VersionNumber": 2},
        SchemaDiffType="SYNTAX_DIFF",
    )["Diff"]
    assert json.loads(diff)[0] | {"penstock:refused": []} == {
        "op": "replace", "path": "/fields/0/type", "value": "string", "penstock:refused": []
    }  # fmt: skip
    assert "TYPE_MISMATCH at /a: the reader expects string and the writer wrote int" in diff


def test_validity(glue: Any) -> None:
    assert glue.check_schema_version_validity(DataFormat="AVRO", SchemaDefinition=V1)["Valid"] is True
    answer = glue.check_schema_version_validity(DataFormat="AVRO", SchemaDefinition='{"type": "record", "name": "1"}')
    assert answer["Valid"] is False
    assert "is not a valid type name" in answer["Error"]
    answer = glue.check_schema_version_validity(DataFormat="PROTOBUF", SchemaDefinition='syntax = "proto3"; message M {')
    assert answer["Valid"] is False
    assert "line 1, column" in answer["Error"]


def test_a_version_is_named_by_its_id_or_by_its_schema(stored: SimpleNamespace) -> None:
    other = {"RegistryName": "r", "SchemaName": "other"}
    refused(
        stored.glue.put_schema_version_metadata, "InvalidInputException", "No other input parameters", SchemaId=other,
        SchemaVersionId=stored.id, MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "1"},
    )  # fmt: skip


PERSON = {
    "JSON": '{"type":"object","properties":{"name":{"type":"string","description":"Whole."}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { string name = 1; }',
}


WIDER = {
    "JSON": '{"type":"object","properties":{"name":{"type":["string","null"],"description":"Whole."}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { string name = 1; int32 age = 2; }',
}


BROKEN_TYPE = {
    "JSON": '{"type":"object","properties":{"name":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { int32 name = 1; }',
}


@pytest.mark.parametrize("data_format", ["JSON", "PROTOBUF"])
def test_every_operation_on_versions_serves_the_other_formats(glue: Any, data_format: str) -> None:
    schema = {"RegistryName": "r", "SchemaName": "person"}
    glue.create_registry(RegistryName="r")
    first = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="person", DataFormat=data_format, Compatibility="BACKWARD",
        SchemaDefinition=PERSON[data_format],
    )  # fmt: skip
    spaced = PERSON[data_format].replace(" ", "  ").replace(",", " ,\n")
    schema_by_definition = glue.get_schema_by_definition(SchemaId=schema, SchemaDefinition=spaced)
    assert (schema_by_definition["SchemaVersionId"], schema_by_definition["DataFormat"]) == (
        first["SchemaVersionId"],
        data_format,
    )
    second = glue.register_schema_version(SchemaId=schema, SchemaDefinition=WIDER[data_format])
    assert (second["VersionNumber"], second["Status"]) == (2, "AVAILABLE")
    third = glue.register_schema_version(SchemaId=schema, SchemaDefinition=BROKEN_TYPE[data_format])
    assert (third["VersionNumber"], third["Status"]) == (3, "FAILURE")
    diff = glue.get_schema_versions_diff(
        SchemaId=schema, FirstSchemaVersionNumber={"VersionNumber": 2}, SecondSchemaVersionNumber={"VersionNumber": 3},
        SchemaDiffType="SYNTAX_DIFF",
    )["Diff"]  # fmt: skip
    (refused,) = json.loads(diff)[0]["penstock:refused"]
    assert refused["version"] == 3
    assert refused["verdict"].startswith("Incompatible under BACKWARD:\n- reading data of version 2: ")
    assert any("int" in str(operation.get("value")) for operation in json.loads(diff))
    metadata = glue.query_schema_version_metadata(SchemaVersionId=third["SchemaVersionId"])["MetadataInfoMap"]
    assert "penstock:incompatibility" in metadata
    glue.update_schema(SchemaId=schema, SchemaVersionNumber={"VersionNumber": 2})
    assert glue.get_schema(SchemaId=schema)["SchemaCheckpoint"] == 2
    assert glue.check_schema_version_validity(DataFormat=data_format, SchemaDefinition=PERSON[data_format])["Valid"]
    invalid = glue.check_schema_version_validity(DataFormat=data_format, SchemaDefinition='{"type": 7} message')
    assert not invalid["Valid"]
    assert invalid["Error"]


def test_a_soft_deleted_version_is_absent_and_readable_by_its_id(loop: Any, client: Any) -> None:
    service = RegistryService(SqlRegistryStore(new_database()))
    handlers: Any = operations(service).handlers
    service.registries.create("r")
    created = handlers["CreateSchema"](
        {"RegistryId": {"RegistryName": "r"}, "SchemaName": "s", "DataFormat": "AVRO", "SchemaDefinition": V1}, None
    )
    service.deletion.soft(SchemaKey("r", "s"), 1)
    assert handlers["ListSchemaVersions"]({"SchemaId": SCHEMA}, None) == {"Schemas": []}
    assert handlers["GetSchemaVersion"]({"SchemaVersionId": created["SchemaVersionId"]}, None)["SchemaDefinition"] == V1
    with pytest.raises(VersionNotFound):
        handlers["GetSchemaVersion"]({"SchemaId": SCHEMA, "SchemaVersionNumber": {"VersionNumber": 1}}, None)
