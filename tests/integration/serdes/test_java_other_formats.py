"""JSON and Protobuf messages of AWS's published Java serde, read by ours."""

import uuid
from typing import Any

import pytest

from penstock.client.registry import RegistryClient
from penstock.schema.formats import format_of
from penstock.schema.version import SchemaText
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import MalformedPayload, UnreadableSchema
from tests.integration.java_formats import JavaFormats

pytestmark = pytest.mark.jvm

REGISTRY = "other-formats"
FLIGHT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"flight": {"type": "integer"}, "delay": {"type": "number"}, "tailnum": {"type": ["string", "null"]}},
    "required": ["flight"],
}
VALUES = [
    {"flight": 1, "delay": 1.10, "tailnum": "Zürich ✈"},
    {"flight": 2**40, "delay": 1e10, "tailnum": None},
    {"flight": 3, "delay": 0.00001, "more": [1, {"x": "y"}]},
]
PROTO = """
syntax = "proto3";
package p;
message Z { int32 id = 1; map<string, Inner> legs = 2; repeated Inner more = 3; message Inner { string carrier = 1; } }
message a { string text = 1; }
message M { map<string, int32> counts = 1; }
"""


def reader(source: RegistryClient, schema: str | None = None, data_format: str = "JSON") -> MessageReader:
    given = SchemaText(definition=schema, data_format=data_format) if schema is not None else None
    return MessageReader(source, formats=("JSON", "PROTOBUF"), reader_schema=given)


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_json(java: JavaFormats, source: RegistryClient, compression: str) -> None:
    messages = java.json(f"json-{uuid.uuid4().hex[:8]}", FLIGHT, VALUES, compression=compression)
    assert [reader(source).read(message) for message in messages] == VALUES
    closed = '{"type":"object","additionalProperties":false,"properties":{"flight":{},"delay":{},"tailnum":{}}}'
    assert reader(source, closed).read(messages[0]) == VALUES[0]
    with pytest.raises(MalformedPayload, match="more"):
        reader(source, closed).read(messages[2])


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("Z", (b"\x08\x07\x1a\x04\x0a\x02UA", {"id": 7, "more": [{"carrier": "UA"}]})),
        ("Z/Inner", (b"\x0a\x02UA", {"carrier": "UA"})),
        ("a", (b"\x0a\x01t", {"text": "t"})),
        ("M", (b"\x0a\x05\x0a\x01x\x10\x03", {"counts": {"x": 3}})),
    ],
)
def test_protobuf(java: JavaFormats, source: RegistryClient, name: str, case: tuple[bytes, Any], compression: str) -> None:
    data, value = case
    topic = f"proto-{uuid.uuid4().hex[:8]}"
    (message,) = java.dynamic(topic, format_of("PROTOBUF").parse(PROTO), name, [data], compression=compression)
    assert reader(source).read(message) == value
    assert reader(source, PROTO, "PROTOBUF").read(message) == value
    assert [item.data for item in java.read(topic, [message])] == [data]


def test_a_field_of_another_type_is_said(java: JavaFormats, source: RegistryClient) -> None:
    schema = format_of("PROTOBUF").parse(PROTO)
    (message,) = java.dynamic(f"proto-{uuid.uuid4().hex[:8]}", schema, "a", [b"\x0a\x01t"])
    with pytest.raises(UnreadableSchema, match=r"field p\.a\.text \(1\)"):
        reader(source, PROTO.replace("string text", "int64 text"), "PROTOBUF").read(message)
