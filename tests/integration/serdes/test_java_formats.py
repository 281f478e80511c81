"""AWS's published Java serde for JSON and Protobuf against a real server, and what Python makes of the bytes it writes."""

import json
import uuid
import zipfile
import zlib
from typing import Any

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from penstock.client.registry import RegistryClient
from penstock.local.artefacts import class_path
from penstock.schema.format import ParsedSchema
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.serdes.codec import MessageReader
from penstock.testing.server import RunningServer
from tests.integration.java_bridge import JavaSerdeError
from tests.integration.java_formats import JavaFormats

pytestmark = pytest.mark.jvm

REGISTRY = "formats"
FIRST: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Flight",
    "type": "object",
    "properties": {
        "flight": {"type": "integer"},
        "tailnum": {"type": ["string", "null"], "maxLength": 8},
        "delay": {"type": "number", "default": 0.0},
        "stops": {"type": "array", "items": {"$ref": "#/definitions/airport"}},
    },
    "required": ["flight"],
    "additionalProperties": False,
    "definitions": {"airport": {"type": "string", "pattern": "^[A-Z]{3}$"}},
}
SECOND = {**FIRST, "properties": {**FIRST["properties"], "model": {"type": "string"}}}
INCOMPATIBLE = {**FIRST, "required": ["flight", "tailnum"]}
VALUES: list[dict[str, Any]] = [
    {"flight": 1, "tailnum": "N14228", "delay": -2.5, "stops": ["JFK", "LGA"]},
    {"flight": 2**53, "tailnum": "日本", "delay": 1.25e21, "stops": []},
    {"flight": 3, "tailnum": None},
]
PROTOBUF = ProtobufFormat()
MANY = 'syntax = "proto3"; package many; ' + "".join(
    f"message M{number} {{ map<string, Part> parts = 1; message Part {{ int32 number = {number + 1}; }} }} "
    for number in range(60)
)


@pytest.fixture
def reader(source: RegistryClient) -> MessageReader:
    return MessageReader(source, formats=("JSON", "PROTOBUF"))


@pytest.fixture
def topic() -> str:
    return f"flights-{uuid.uuid4().hex[:8]}"


def register(server: RunningServer, topic: str, data_format: str, definition: str) -> uuid.UUID:
    made = server.client("glue").create_schema(
        RegistryId={"RegistryName": REGISTRY},
        SchemaName=topic,
        DataFormat=data_format,
        Compatibility="BACKWARD",
        SchemaDefinition=definition,
    )
    return uuid.UUID(made["SchemaVersionId"])


def versions_of(frames: list[bytes]) -> set[uuid.UUID]:
    return {uuid.UUID(bytes=frame[2:18]) for frame in frames}


def statuses(server: RunningServer, topic: str) -> list[str]:
    glue = server.client("glue")
    listed = glue.list_schema_versions(SchemaId={"RegistryName": REGISTRY, "SchemaName": topic})["Schemas"]
    return [item["Status"] for item in sorted(listed, key=lambda item: item["VersionNumber"])]


def encoded(schema: ParsedSchema, name: str, value: dict[str, Any]) -> bytes:
    pool = DescriptorPool()
    for file in schema.tree.files:
        pool.AddSerializedFile(file.SerializeToString())
    message = ParseDict(value, GetMessageClass(pool.FindMessageTypeByName(name))(), descriptor_pool=pool)
    return bytes(message.SerializeToString(deterministic=True))


def payload(frame: bytes, compression: str) -> bytes:
    assert frame[:2] == (b"\x03\x05" if compression == "ZLIB" else b"\x03\x00")
    return zlib.decompress(frame[18:]) if compression == "ZLIB" else frame[18:]


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_json(
    *,
    java: JavaFormats,
    penstock_server: RunningServer,
    source: RegistryClient,
    reader: MessageReader,
    topic: str,
    compression: str,
) -> None:
    frames = java.json(topic, FIRST, VALUES, compression=compression, compatibility="FULL")
    (version,) = source.versions(REGISTRY, topic)
    assert (version.data_format, version.status) == ("JSON", "AVAILABLE")
    assert versions_of(frames) == {version.id}
    assert [json.loads(payload(frame, compression)) for frame in frames] == VALUES
    assert [reader.read(frame) for frame in frames] == VALUES
    back = java.read(topic, frames)
    assert [json.loads(value.data) for value in back] == VALUES
    assert [json.loads(value.name) for value in back] == [FIRST] * 3
    assert versions_of(java.json(topic, FIRST, VALUES[:1])) == {version.id}
    assert len(source.versions(REGISTRY, topic)) == 1
    schema = penstock_server.client("glue").get_schema(SchemaId={"RegistryName": REGISTRY, "SchemaName": topic})
    assert schema["Compatibility"] == "FULL"


def test_json_is_found_however_it_is_spelled(java: JavaFormats, penstock_server: RunningServer, topic: str) -> None:
    made = register(penstock_server, topic, "JSON", json.dumps(dict(reversed(FIRST.items())), indent=4))
    assert versions_of(java.json(topic, FIRST, VALUES, schemaAutoRegistrationEnabled="false")) == {made}
    with pytest.raises(JavaSerdeError, match="auto-register"):
        java.json(topic, SECOND, VALUES, schemaAutoRegistrationEnabled="false")


def test_json_evolves(java: JavaFormats, penstock_server: RunningServer, reader: MessageReader, topic: str) -> None:
    newer = {**VALUES[0], "model": "A320"}
    frames = java.json(topic, FIRST, VALUES[:1]) + java.json(topic, SECOND, [newer])
    assert len(versions_of(frames)) == 2
    assert [reader.read(frame) for frame in frames] == [VALUES[0], newer]
    assert [json.loads(value.data) for value in java.read(topic, frames)] == [VALUES[0], newer]
    with pytest.raises(JavaSerdeError, match="FAILURE"):
        java.json(topic, INCOMPATIBLE, VALUES[:1])
    assert statuses(penstock_server, topic) == ["AVAILABLE", "AVAILABLE", "FAILURE"]
    assert versions_of(java.json(topic, FIRST, VALUES[:1])) == versions_of(frames[:1])


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_json_of_a_java_object(
    java: JavaFormats, source: RegistryClient, reader: MessageReader, topic: str, compression: str
) -> None:
    value = {"flight": 517, "tailnum": "N1", "delay": 0.5, "stops": ["ORD"], "seats": {"first": 2**40}}
    frames = java.objects("elsewhere", [value], schemaName=topic, compression=compression)
    (version,) = source.versions(REGISTRY, topic)
    assert json.loads(version.definition)["className"] == "FormatsBridge$Flight"
    assert json.loads(payload(frames[0], compression)) == value
    assert reader.read(frames[0]) == value
    (back,) = java.read(topic, frames)
    assert (back.java_class, json.loads(back.data)) == ("FormatsBridge$Flight", value)
    assert versions_of(java.objects(topic, [value])) == {version.id}


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
@pytest.mark.parametrize("nested", ["", ".Part"])
def test_protobuf_of_many_messages(
    *, java: JavaFormats, source: RegistryClient, reader: MessageReader, topic: str, nested: str, compression: str
) -> None:
    schema, name = PROTOBUF.parse(MANY), f"many.M59{nested}"
    value = {"number": 7} if nested else {"parts": {"a": {"number": 1}}}
    data = encoded(schema, name, value)
    frames = java.dynamic(topic, schema, f"M59{nested}".replace(".", "/"), [data], compression=compression)
    index = schema.tree.message_index_glue(name)
    assert payload(frames[0], compression) == bytes((index & 0x7F | 0x80, index >> 7)) + data
    assert reader.read(frames[0]) == value
    (back,) = java.read(topic, frames, protobufMessageType="DYNAMIC_MESSAGE")
    assert (back.name, back.data) == (name, data)
    again = java.dynamic(topic, schema, "M0", [b""], compression=compression)
    assert versions_of(again) == versions_of(frames) == {version.id for version in source.versions(REGISTRY, topic)}
    assert reader.read(again[0]) == {}


# Google's own definitions and the classes that its compiler made of them; those of google.type are left out because the Java
# deserialiser takes any of them for google.type.Color.
@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("google/rpc/error_details.proto", "google.rpc.ErrorInfo", {"reason": "R", "metadata": {"a": "b"}}),
        ("google/rpc/error_details.proto", "google.rpc.Help.Link", {"description": "d", "url": "u"}),
        ("google/api/label.proto", "google.api.LabelDescriptor", {"key": "k", "value_type": "INT64"}),
        ("google/api/distribution.proto", "google.api.Distribution", {"count": "3", "range": {"min": 1.5, "max": 2.0}}),
        (
            "google/rpc/context/attribute_context.proto",
            "google.rpc.context.AttributeContext",
            {"request": {"id": "1", "headers": {"h": "v"}, "time": "2026-11-21T10:00:00Z"}},
        ),
    ],
)
def test_protobuf_of_generated_classes(
    *,
    java: JavaFormats,
    penstock_server: RunningServer,
    reader: MessageReader,
    topic: str,
    file: str,
    name: str,
    value: dict[str, Any],
) -> None:
    (jar,) = (path for path in class_path("serde") if path.name.startswith("proto-google-common-protos"))
    with zipfile.ZipFile(jar) as opened:
        written = opened.read(file).decode()
    made = register(penstock_server, topic, "PROTOBUF", written)
    java_class = f"com.{name}".replace("Help.Link", "Help$Link")
    data = encoded(PROTOBUF.parse(written), name, value)
    frames = java.generated(topic, java_class, [data], protobufMessageType="POJO")
    assert versions_of(frames) == {made}
    assert reader.read(frames[0]) == value
    (back,) = java.read(topic, frames, protobufMessageType="POJO")
    assert (back.java_class, back.name, back.data) == (java_class, name, data)
    rendered = java.generated(f"{topic}-rendered", java_class, [data], protobufMessageType="POJO")
    assert reader.read(rendered[0]) == value


def test_protobuf_with_backslashes(java: JavaFormats, penstock_server: RunningServer, topic: str) -> None:
    written = (
        r'syntax = "proto3"; option php_namespace = "Acme\\Billing\\Users"; message Bill { map<string, int64> by = 1; }'
    )
    made = register(penstock_server, topic, "PROTOBUF", written)
    schema = PROTOBUF.parse(written)
    data = encoded(schema, "Bill", {"by": {"ana": 5}})
    assert versions_of(java.dynamic(topic, schema, "Bill", [data])) == {made}
    (frame,) = java.dynamic(f"{topic}-rendered", schema, "Bill", [data])
    (back,) = java.read(topic, [frame], protobufMessageType="DYNAMIC_MESSAGE")
    assert (back.name, back.data) == ("Bill", data)


def test_protobuf_evolves(java: JavaFormats, penstock_server: RunningServer, reader: MessageReader, topic: str) -> None:
    text = 'syntax = "proto3"; message A { int32 a = 1; }'
    first, second = PROTOBUF.parse(text), PROTOBUF.parse(text.replace("}", "string b = 2; }"))
    values: list[dict[str, Any]] = [{"a": 1}, {"a": 2, "b": "x"}]
    frames = [
        *java.dynamic(topic, first, "A", [encoded(first, "A", values[0])]),
        *java.dynamic(topic, second, "A", [encoded(second, "A", values[1])]),
    ]
    assert len(versions_of(frames)) == 2
    assert [reader.read(frame) for frame in frames] == values
    assert len(java.read(topic, frames, protobufMessageType="DYNAMIC_MESSAGE")) == 2
    third = PROTOBUF.parse(text.replace("int32", "string"))
    with pytest.raises(JavaSerdeError, match="FAILURE"):
        java.dynamic(topic, third, "A", [b""])
    assert statuses(penstock_server, topic) == ["AVAILABLE", "AVAILABLE", "FAILURE"]
