"""validate_schema and get_latest_schema_version of the façade, over boto3's client with stubbed responses."""

import io
import json
from typing import Any
from uuid import UUID

import boto3
import fastavro
import pytest
from botocore.stub import Stubber

from awsglue.schema_registry.glue_schema_registry_client import GlueSchemaRegistryClient
from penstock.errors import InvalidInput, NotFound
from penstock.serdes import frame
from penstock.serdes.errors import UnreadableSchema

ORDER = {
    "type": "record",
    "name": "OrderEvent",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "raw", "type": "bytes", "default": ""},
        {"name": "note", "type": ["null", "string", {"type": "fixed", "name": "Two", "size": 2}], "default": None},
    ],
}
JSON_ORDER = json.dumps({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}})
PROTO = 'syntax = "proto3"; message Order { int32 id = 1; }'


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> GlueSchemaRegistryClient:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    return GlueSchemaRegistryClient(region_name="us-east-1", session=boto3.session.Session(), clock=Clock())


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"order_id": "1", "amount": 9.5}, None),
        ({"order_id": "1", "amount": 9}, None),
        ({"order_id": "1", "amount": 9, "raw": "\u00ff", "note": "ab"}, None),
        ({"order_id": "1", "amount": 9, "note": {"string": "ab"}}, None),
        ({"order_id": "1", "amount": 9, "note": {"Two": "ab"}}, None),
        ({"order_id": "1", "amount": 9, "note": {"Two": "abc"}}, "OrderEvent.note"),
        ({"order_id": "1", "amount": 9, "raw": "✈"}, "OrderEvent.raw"),
        ({"order_id": "1", "amount": "much"}, "OrderEvent.amount is 'much'"),
        ({"order_id": 1, "amount": 9}, "OrderEvent.order_id"),
        ({"amount": 9}, "OrderEvent.order_id is missing"),
        ({"order_id": "1", "amount": 9, "gate": 1}, "OrderEvent.gate is not a field"),
        ([], "expected a record"),
    ],
)
def test_json_against_avro(client: GlueSchemaRegistryClient, data: Any, why: str | None) -> None:
    asked: dict[str, Any] = {"DataFormat": "AVRO", "SchemaDefinition": json.dumps(ORDER), "Data": json.dumps(data).encode()}
    assert client.validate_schema(**asked) is (why is None)
    result = client.why_invalid(**asked)
    assert result is None if why is None else why in str(result)


@pytest.mark.parametrize(
    ("data_format", "definition", "good", "bad", "why"),
    [
        ("AVRO", json.dumps(ORDER), None, b"not JSON", "neither a message"),
        ("AVRO", json.dumps(ORDER), None, b"[" * 100_000, "nests deeper"),
        ("JSON", JSON_ORDER, b'{"id": 1}', b"{}", "value.id is missing"),
        ("JSON", JSON_ORDER, '{"id": 1}', b"\xff", "neither a message"),
        ("PROTOBUF", PROTO, b'{"id": 1}', b'{"id": "x"}', "Order.id"),
        ("PROTOBUF", PROTO, b"\x08\x01", b"\x08", "not a message Order"),
    ],
)
def test_other_data(  # noqa: PLR0917
    client: GlueSchemaRegistryClient, data_format: str, definition: str, good: bytes | str | None, bad: bytes, why: str
) -> None:
    asked: dict[str, Any] = {"DataFormat": data_format, "SchemaDefinition": definition}
    if good is not None:
        assert client.validate_schema(**asked, Data=good) is True
    assert why in str(client.why_invalid(**asked, Data=bad))


@pytest.mark.parametrize("compression", list(frame.Compression))
def test_framed_data(client: GlueSchemaRegistryClient, compression: frame.Compression) -> None:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), {"order_id": "1", "amount": 9.5, "raw": b""})
    asked: dict[str, Any] = {"DataFormat": "AVRO", "SchemaDefinition": json.dumps(ORDER)}
    assert client.validate_schema(**asked, Data=frame.encode(UUID(int=7), out.getvalue(), compression)) is True
    cut = frame.encode(UUID(int=7), out.getvalue()[:-3], compression)
    assert "ends" in str(client.why_invalid(**asked, Data=cut))


def test_input_that_cannot_be_checked_is_an_error(client: GlueSchemaRegistryClient) -> None:
    with pytest.raises(InvalidInput, match="THRIFT"):
        client.validate_schema(DataFormat="THRIFT", SchemaDefinition="", Data=b"")
    with pytest.raises(UnreadableSchema):
        client.validate_schema(DataFormat="AVRO", SchemaDefinition="{}", Data=b"{}")


def answer(number: int, status: str = "AVAILABLE") -> dict[str, Any]:
    return {
        "SchemaVersionId": f"00000000-0000-0000-0000-{number:012}",
        "SchemaDefinition": '"int"',
        "DataFormat": "AVRO",
        "SchemaArn": "arn:aws:glue:us-east-1:000000000000:schema/default-registry/OrderEvent",
        "VersionNumber": number,
        "Status": status,
        "CreatedTime": "2026-11-21T10:00:00Z",
    }


def test_the_latest_version_is_cached_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    clock = Clock()
    client = GlueSchemaRegistryClient(region_name="us-east-1", session=boto3.session.Session(), clock=clock)
    expected = {"SchemaId": {"SchemaName": "OrderEvent", "RegistryName": "default-registry"}}
    latest = {**expected, "SchemaVersionNumber": {"LatestVersion": True}}
    with Stubber(client._versions.client) as stub:
        stub.add_response("get_schema_version", answer(1), latest)
        for _ in range(3):
            assert client.get_latest_schema_version(SchemaId={"SchemaName": "OrderEvent"}) == answer(1)
        clock.now = 5.0
        stub.add_response("get_schema_version", answer(3, "FAILURE"), latest)
        versions = [{"SchemaVersionId": answer(number)["SchemaVersionId"], "VersionNumber": number} for number in (1, 2, 3)]
        for version, status in zip(versions, ("AVAILABLE", "AVAILABLE", "FAILURE"), strict=True):
            version["Status"] = status
        stub.add_response("list_schema_versions", {"Schemas": versions}, expected)
        stub.add_response("get_schema_version", answer(2), {"SchemaVersionId": answer(2)["SchemaVersionId"]})
        assert client.get_latest_schema_version(SchemaId={"SchemaName": "OrderEvent"})["VersionNumber"] == 2
        clock.now = 10.0
        stub.add_client_error(
            "get_schema_version", "EntityNotFoundException", "Schema is not found.", expected_params=latest
        )
        with pytest.raises(NotFound, match=r"Schema is not found\. .*default-registry"):
            client.get_latest_schema_version(SchemaId={"SchemaName": "OrderEvent"})
        stub.assert_no_pending_responses()
