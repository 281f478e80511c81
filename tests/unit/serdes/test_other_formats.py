"""JSON and Protobuf payloads in either family's frame; the reference is what confluent-kafka's serialisers write."""

import json
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import header_schema_id_serializer, prefix_schema_id_serializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from penstock.schema.format import ReferencedText
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.schema.version import SchemaText
from penstock.serdes import confluent_frame as confluent
from penstock.serdes import frame
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import MalformedPayload, PayloadTooLarge, SerdeError, TruncatedPayload, UnreadableSchema
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.test_confluent_frames import Registry

FLIGHT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Flight",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "carrier": {"type": "string", "maxLength": 3}},
    "required": ["id"],
}
PROTO = """
syntax = "proto3";
package p;
message Z { int32 id = 1; map<string, Inner> legs = 2; repeated Inner more = 3; message Inner { string carrier = 1; } }
message a { string text = 1; }
message M { map<string, int32> counts = 1; }
"""
FORMATS = ("JSON", "PROTOBUF")


def context() -> SerializationContext:
    return SerializationContext("flights", MessageField.VALUE, headers=[])


def classes(text: str) -> dict[str, Any]:
    """Messages of a definition as Google's library makes them, in a pool of their own."""
    tree = ProtobufFormat().parse(text).tree
    pool = DescriptorPool()
    for file in tree.files:
        # Under the name that a generated module would give it.
        copy = descriptor_pb2.FileDescriptorProto()
        copy.CopyFrom(file)
        pool.Add(copy)
    return {name: GetMessageClass(pool.FindMessageTypeByName(name)) for name in tree.names_glue()}


def glue(text: str, data_format: str, payload: bytes) -> tuple[FakeRegistry, bytes]:
    registry = FakeRegistry()
    version = registry.add(text, data_format=data_format)
    return registry, frame.encode(version.id, payload)


def read(registry: FakeRegistry, message: bytes, **options: Any) -> Any:
    return MessageReader(registry, formats=FORMATS, **options).read(message)


@pytest.mark.parametrize("serializer", [prefix_schema_id_serializer, header_schema_id_serializer])
def test_json_of_confluents_serialiser(serializer: Any) -> None:
    registry, ctx = Registry(), context()
    write = JSONSerializer(json.dumps(FLIGHT), registry.theirs, conf={"schema.id.serializer": serializer})
    message = write({"id": 1, "carrier": "UA"}, ctx)
    reader = MessageReader(FakeRegistry(), confluent=registry, formats=FORMATS)
    assert reader.read(message, ctx.headers) == {"id": 1, "carrier": "UA"}
    with pytest.raises(UnreadableSchema, match="is JSON, and this deserialiser reads AVRO"):
        MessageReader(FakeRegistry(), confluent=registry).read(message, ctx.headers)


@pytest.mark.parametrize("serializer", [prefix_schema_id_serializer, header_schema_id_serializer])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p.Z", {"id": 7, "legs": {"x": {"carrier": "UA"}}, "more": [{"carrier": "AA"}]}),
        ("p.Z.Inner", {"carrier": "UA"}),
        ("p.a", {"text": "hello"}),
        ("p.M", {"counts": {"x": 3}}),
        ("p.a", {}),
    ],
)
def test_protobuf_of_confluents_serialiser(name: str, value: dict[str, Any], serializer: Any) -> None:
    from google.protobuf.json_format import ParseDict

    registry, ctx = Registry(), context()
    kind = classes(PROTO)[name]
    write = ProtobufSerializer(
        kind, registry.theirs, conf={"use.deprecated.format": False, "schema.id.serializer": serializer}
    )
    message = write(ParseDict(value, kind()), ctx)
    reader = MessageReader(FakeRegistry(), confluent=registry, formats=FORMATS)
    assert reader.read(message, ctx.headers) == value


def test_json_in_awss_frame() -> None:
    registry, message = glue(json.dumps(FLIGHT), "JSON", b'{"id":1,"carrier":"UA","more":1.0E10}')
    assert read(registry, message) == {"id": 1, "carrier": "UA", "more": 1e10}
    zipped = frame.encode(UUID(bytes=message[2:18]), message[18:], frame.Compression.ZLIB)
    assert read(registry, zipped) == {"id": 1, "carrier": "UA", "more": 1e10}


# The ranks were measured on AWS's Java serde 1.1.27: p.M=0, p.M.CountsEntry=1, p.Z=2, p.Z.Inner=3, p.Z.LegsEntry=4, p.a=5.
@pytest.mark.parametrize(
    ("rank", "name", "value"),
    [
        (0, "p.M", {"counts": {"x": 3}}),
        (2, "p.Z", {"id": 7}),
        (3, "p.Z.Inner", {"carrier": "UA"}),
        (5, "p.a", {"text": "t"}),
    ],
)
def test_protobuf_in_awss_frame(rank: int, name: str, value: dict[str, Any]) -> None:
    from google.protobuf.json_format import ParseDict

    payload = ParseDict(value, classes(PROTO)[name]()).SerializeToString()
    registry, message = glue(PROTO, "PROTOBUF", bytes([rank]) + payload)
    assert read(registry, message) == value


def reader_of(definition: Any, data_format: str) -> dict[str, Any]:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return {"reader_schema": SchemaText(definition=text, data_format=data_format)}


def test_json_is_held_against_the_readers_schema() -> None:
    registry, message = glue(json.dumps(FLIGHT), "JSON", b'{"id":1}')
    needy = {**FLIGHT, "required": ["id", "carrier"]}
    assert read(registry, message, **reader_of(FLIGHT, "JSON")) == {"id": 1}
    with pytest.raises(MalformedPayload, match='at /: "carrier" is a required property'):
        read(registry, message, **reader_of(needy, "JSON"))
    with pytest.raises(UnreadableSchema, match="is JSON, and this deserialiser reads PROTOBUF"):
        read(registry, message, **reader_of(PROTO, "PROTOBUF"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("int32 id = 1", "string id = 1"), r"field p\.Z\.id \(1\)"),
        (("string carrier = 1", "int64 carrier = 1"), r"field p\.Z\.more\.carrier \(1\)"),
        (("message Z", "message Y"), "no message p.Z"),
        (("package p", "package q"), "no message p.Z"),
        (("int32 id = 1;", ""), None),
        (("int32 id = 1;", "int64 id = 1; string gate = 9;"), None),
    ],
)
def test_protobuf_is_read_as_the_readers_message(change: tuple[str, str], says: str | None) -> None:
    written = classes(PROTO)["p.Z"](id=7)
    written.more.add(carrier="UA")
    registry, message = glue(PROTO, "PROTOBUF", b"\x02" + written.SerializeToString())
    changed = reader_of(PROTO.replace(*change), "PROTOBUF")
    if says is None:
        assert read(registry, message, **changed)["more"] == [{"carrier": "UA"}]
    else:
        with pytest.raises(UnreadableSchema, match=says):
            read(registry, message, **changed)


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"{", TruncatedPayload),
        (b"", TruncatedPayload),
        (b'{"id":1}{}', MalformedPayload),
        (b'{"id":"x"}', MalformedPayload),
        (b'{"id":NaN}', MalformedPayload),
        (b"\xff\xfe", MalformedPayload),
        (b"[" * 100_000, PayloadTooLarge),
        (b'{"id":1,"x":' + b"[" * 600 + b"]" * 600 + b"}", PayloadTooLarge),
        (b'{"id":' + b"9" * 5_000 + b"}", MalformedPayload),
        (b'{"id":1,"carrier":"' + b"x" * 1_000_000 + b'"}', MalformedPayload),
    ],
)
def test_hostile_json(payload: bytes, error: type[SerdeError]) -> None:
    registry, message = glue(json.dumps(FLIGHT), "JSON", payload)
    with pytest.raises(error) as raised:
        read(registry, message)
    assert len(str(raised.value)) < 1_500


def test_a_pattern_that_backtracks_is_given_up() -> None:
    slow = {"type": "string", "pattern": "^(a+)+$(?=x)"}
    registry, message = glue(json.dumps(slow), "JSON", b'"' + b"a" * 60 + b'!"')
    with pytest.raises(MalformedPayload):
        read(registry, message)


RECURSIVE = 'syntax = "proto3"; message N { N n = 1; repeated int32 packed = 2; }'


def nest(levels: int) -> bytes:
    made = b""
    for _ in range(levels):
        size, length = len(made), bytearray()
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        made = b"\x0a" + bytes([*length, size]) + made
    return made


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"", TruncatedPayload),
        (b"\x80", TruncatedPayload),
        (b"\x80" * 20, MalformedPayload),
        (b"\x09", MalformedPayload),
        (b"\x00\x0a\x05x", TruncatedPayload),
        (b"\x00\x12\xff\xff\xff\xff\x0f", TruncatedPayload),
        (b"\x00" + nest(5_000), MalformedPayload),
        (b"\x00\xff\xff", TruncatedPayload),
        (b"\x00\x0b", MalformedPayload),
    ],
)
def test_hostile_protobuf(payload: bytes, error: type[SerdeError]) -> None:
    registry, message = glue(RECURSIVE, "PROTOBUF", payload)
    with pytest.raises(error):
        read(registry, message)
    assert read(registry, message[:18] + b"\x00" + nest(50))


@pytest.mark.parametrize(
    "index",
    [b"\x01\x00", b"\xff\xff\xff\xff\x0f", b"\x02", b"\x02\x80", b"\x02\x09", b"\xd0\x0f" + b"\x00" * 2_000, b"\x02\x01"],
)
def test_hostile_message_indexes(index: bytes) -> None:
    registry = Registry()
    schema_id, _ = registry.register("s", RECURSIVE, "PROTOBUF")
    reader = MessageReader(FakeRegistry(), confluent=registry, formats=FORMATS)
    with pytest.raises((MalformedPayload, TruncatedPayload)):
        reader.read(confluent.prefix(schema_id) + index)
    with pytest.raises((MalformedPayload, TruncatedPayload)):
        reader.read(b"", [(confluent.VALUE_HEADER, confluent.prefix(schema_id) + index)])


def test_definitions_that_build_on_others() -> None:
    registry = Registry()
    inner = {"$id": "http://example.com/id.json", "type": "integer"}
    outer = {"type": "object", "properties": {"id": {"$ref": "http://example.com/id.json"}}}
    registry.references = (ReferencedText(name="http://example.com/id.json", text=json.dumps(inner)),)
    schema_id, _ = registry.register("s", json.dumps(outer), "JSON")
    reader = MessageReader(FakeRegistry(), confluent=registry, formats=FORMATS)
    assert reader.read(confluent.prefix(schema_id) + b'{"id":1}') == {"id": 1}
    with pytest.raises(MalformedPayload, match="at /id"):
        reader.read(confluent.prefix(schema_id) + b'{"id":"x"}')
    registry.references = (ReferencedText(name="dep.proto", text=PROTO),)
    text = 'syntax = "proto3"; import "dep.proto"; message Top { p.a a = 1; }'
    proto_id, _ = registry.register("t", text, "PROTOBUF")
    assert reader.read(confluent.prefix(proto_id) + b"\x00\x0a\x03\x0a\x01x") == {"a": {"text": "x"}}
