"""Every format, with and without zlib, in both directions between AWS's published Java serde and ours; one JVM for all.

Both sides register for themselves and find what the other one registered; where the bytes are the same for the same value,
that is asked too. Java's payloads are the reference.
"""

import io
import json
import uuid
import zlib
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2

from penstock.client.registry import RegistryClient
from penstock.errors import NotFound
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from tests.integration.java_bridge import JavaSerdeError
from tests.integration.java_formats import JavaFormats

pytestmark = pytest.mark.jvm

REGISTRY = "matrix"
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "OrderEvent",
    "namespace": "com.example.ecommerce",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "timestamp", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
    ],
}
JSON_ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": ["string", "null"]}},
    "required": ["order_id"],
}
PROTO = """
syntax = "proto3";
package shop;
message Zeta { string order_id = 1; double amount = 2; map<string, Line> lines = 3; message Line { int64 count = 1; } }
message alpha { repeated int32 numbers = 1; }
"""
VALUES: dict[str, list[Any]] = {
    "AVRO": [
        {"order_id": "1", "amount": 99.99, "timestamp": 1672531200, "note": None, "lines": [{"x": 1}]},
        {"order_id": "Zürich ✈", "amount": 0.0, "timestamp": -(2**40), "note": "n", "lines": []},
    ],
    "JSON": [
        {"order_id": "1", "amount": 99.99, "note": None},
        {"order_id": "✈ \u0001 \"\\", "amount": 1e10, "more": [1.1, 0.00001, 2**70, {"z": True, "a": 12345678.9}]},
    ],
    "PROTOBUF": [
        {"order_id": "1", "amount": 99.99, "lines": {"x": {"count": "4"}}},
        {"order_id": "Zürich ✈"},
    ],
}  # fmt: skip
SCHEMA: dict[str, Any] = {"AVRO": ORDER, "JSON": JSON_ORDER, "PROTOBUF": PROTO}
FORMATS = ("AVRO", "JSON", "PROTOBUF")
COMPRESSIONS = ("NONE", "ZLIB")


@pytest.fixture
def context() -> SerializationContext:
    return SerializationContext(f"orders-{uuid.uuid4().hex[:8]}", MessageField.VALUE)


def message_of(value: Any, name: str = "shop.Zeta") -> Any:
    pool = DescriptorPool()
    for file in ProtobufFormat().parse(PROTO).tree.files:
        pool.Add(file)
    return ParseDict(value, GetMessageClass(pool.FindMessageTypeByName(name))())


def by_java(java: JavaFormats, data_format: str, topic: str, values: list[Any], compression: str) -> list[bytes]:
    """What Java writes for the values."""
    match data_format:
        case "AVRO":
            return java.avro(topic, ORDER, [avro_bytes(value) for value in values], compression=compression)
        case "JSON":
            return java.json(topic, JSON_ORDER, values, compression=compression)
        case _:
            data = [message_of(value).SerializeToString() for value in values]
            return java.dynamic(topic, ProtobufFormat().parse(PROTO), "Zeta", data, compression=compression)


def avro_bytes(value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), value)
    return out.getvalue()


def from_java(data_format: str, data: bytes) -> Any:
    """A value as Java gave its bytes, read without our code."""
    match data_format:
        case "AVRO":
            return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(ORDER), None)
        case "JSON":
            return json.loads(data)
        case _:
            return MessageToDict(message_of({}).FromString(data), preserving_proto_field_name=True)


def serializer(source: RegistryClient, data_format: str, compression: str, **settings: Any) -> GlueSerializer:
    properties = {
        "dataFormat": data_format,
        "compression": compression,
        "registry.name": REGISTRY,
        "schemaAutoRegistrationEnabled": "true",
    }
    return GlueSerializer(properties, source=source, **({"schema": SCHEMA[data_format]} | settings))


def payloads(frames: list[bytes], compression: str) -> list[bytes]:
    assert {frame[:2] for frame in frames} == {b"\x03\x00" if compression == "NONE" else b"\x03\x05"}
    return [frame[18:] if compression == "NONE" else zlib.decompress(frame[18:]) for frame in frames]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("data_format", FORMATS)
def test_java_writes_and_python_reads(
    java: JavaFormats, source: RegistryClient, context: SerializationContext, data_format: str, compression: str
) -> None:
    values = VALUES[data_format]
    frames = by_java(java, data_format, context.topic, values, compression)
    read = GlueDeserializer({"avroRecordType": "GENERIC_RECORD"}, source=source)
    assert [read(frame, context) for frame in frames] == values
    (version,) = source.versions(REGISTRY, context.topic)
    assert {frame[2:18] for frame in frames} == {version.id.bytes}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("data_format", FORMATS)
def test_python_writes_and_java_reads(
    java: JavaFormats, source: RegistryClient, context: SerializationContext, data_format: str, compression: str
) -> None:
    values = VALUES[data_format]
    write = serializer(source, data_format, compression)
    frames = [write(value, context) or b"" for value in values]
    results = [from_java(data_format, item.data) for item in java.read(context.topic, frames)]
    assert results == values
    (version,) = source.versions(REGISTRY, context.topic)
    assert {frame[2:18] for frame in frames} == {version.id.bytes}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("data_format", FORMATS)
def test_both_write_the_same_bytes(
    java: JavaFormats, source: RegistryClient, context: SerializationContext, data_format: str, compression: str
) -> None:
    values = VALUES[data_format]
    theirs = by_java(java, data_format, context.topic, values, compression)
    # Without registering: what Java registered is found by our spelling of the definition.
    properties = {"dataFormat": data_format, "compression": compression, "registry.name": REGISTRY}
    write = GlueSerializer(properties, source=source, schema=SCHEMA[data_format])
    ours = [write(value, context) or b"" for value in values]
    assert [frame[:18] for frame in ours] == [frame[:18] for frame in theirs]
    assert payloads(ours, compression) == payloads(theirs, compression)


def test_java_finds_what_python_registered(java: JavaFormats, source: RegistryClient, context: SerializationContext) -> None:
    for data_format in FORMATS:
        named = SerializationContext(f"{context.topic}-{data_format}", MessageField.VALUE)
        ours = serializer(source, data_format, "NONE")(VALUES[data_format][0], named)
        theirs = by_java(java, data_format, named.topic, VALUES[data_format][:1], "NONE")
        assert ours == theirs[0]
        assert len(source.versions(REGISTRY, named.topic)) == 1


def test_messages_of_generated_classes(java: JavaFormats, source: RegistryClient, context: SerializationContext) -> None:
    info = error_details_pb2.ErrorInfo(reason="R", domain="d", metadata={"a": "b"})
    ours = serializer(source, "PROTOBUF", "NONE", schema=None)(info, context)
    java_class = "com.google.rpc.ErrorInfo"
    (theirs,) = java.generated(context.topic, java_class, [info.SerializeToString()], protobufMessageType="POJO")
    assert ours is not None
    assert ours[18:] == theirs[18:]
    (found,) = java.read(context.topic, [ours], protobufMessageType="POJO")
    assert (found.java_class, error_details_pb2.ErrorInfo.FromString(found.data)) == (java_class, info)
    read = GlueDeserializer({"protobufMessageType": "POJO"}, source=source, message_class=error_details_pb2.ErrorInfo)
    assert read(theirs, context) == info


def test_nested_messages_have_javas_index(java: JavaFormats, source: RegistryClient, context: SerializationContext) -> None:
    for name, value in (("Zeta/Line", {"count": 3}), ("alpha", {"numbers": [1, 2, 300]})):
        full = f"shop.{name.replace('/', '.')}"
        data = message_of(value, full).SerializeToString()
        (theirs,) = java.dynamic(context.topic, ProtobufFormat().parse(PROTO), name, [data])
        assert serializer(source, "PROTOBUF", "NONE", message=full)(value, context) == theirs


def test_what_one_side_refuses_the_other_refuses(
    java: JavaFormats, source: RegistryClient, context: SerializationContext
) -> None:
    wrong = {"amount": 1}
    with pytest.raises(JavaSerdeError, match="order_id"):
        java.json(context.topic, JSON_ORDER, [wrong])
    with pytest.raises(Exception, match=r"value\.order_id is missing"):
        serializer(source, "JSON", "NONE")(wrong, context)
    unregistered = GlueSerializer({"dataFormat": "JSON", "registry.name": REGISTRY}, schema="false", source=source)
    with pytest.raises(NotFound, match="schemaAutoRegistrationEnabled"):
        unregistered(VALUES["JSON"][0], context)


def test_java_reads_a_logical_type_at_the_top(
    java: JavaFormats, source: RegistryClient, context: SerializationContext
) -> None:
    schema = '{"type":"long","logicalType":"timestamp-millis"}'
    moment = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
    frame = serializer(source, "AVRO", "NONE", schema=schema)(moment, context)
    assert frame is not None
    assert GlueDeserializer(source=source)(frame, context) == moment
    (found,) = java.read(context.topic, [frame])
    assert (found.java_class, int(found.data)) == ("java.lang.Long", int(moment.timestamp() * 1000))
