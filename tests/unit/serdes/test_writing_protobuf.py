"""Protobuf written in AWS's frame: the payload's bytes, and what is refused and where."""

import zlib
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2

from penstock.serdes.errors import (
    IncompatibleValue,
    MalformedPayload,
    MissingField,
    SerdeError,
    UnknownField,
    UnreadableSchema,
)
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.test_other_formats import PROTO, classes
from tests.unit.serdes.writers import VALUE, serializer


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("p.Z", 2, {"id": 7, "legs": {"x": {"carrier": "UA"}}, "more": [{"carrier": "AA"}]}),
        ("p.Z.Inner", 3, {"carrier": "UA"}),
        ("p.a", 5, {"text": "t"}),
        ("p.M", 0, {"counts": {"y": 1, "x": 3}}),
    ],
)
@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_protobuf_of_mappings_and_messages(name: str, index: int, value: dict[str, Any], compression: str) -> None:
    registry = FakeRegistry()
    write = serializer(registry, "PROTOBUF", schema=PROTO, message=name, compression=compression_of(compression))
    message = ParseDict(value, classes(PROTO)[name]())
    made = write(value, VALUE)
    assert made is not None
    assert made == write(message, VALUE)
    payload = made[18:] if compression == "NONE" else zlib.decompress(made[18:])
    assert payload == bytes([index]) + message.SerializeToString(deterministic=True)
    assert GlueDeserializer(source=registry)(made) == value
    read = GlueDeserializer({"protobufMessageType": "DYNAMIC_MESSAGE"}, source=registry)(made)
    # Without deterministic=True the entries of a map come in the order of the process's own hashes.
    data = read.SerializeToString(deterministic=True)
    assert (read.DESCRIPTOR.full_name, data) == (name, message.SerializeToString(deterministic=True))


def compression_of(name: str) -> Any:
    from penstock.serdes.frame import Compression

    return Compression[name]


def test_a_generated_class_brings_its_own_definition() -> None:
    registry = FakeRegistry()
    write = serializer(registry, "PROTOBUF")
    info = error_details_pb2.ErrorInfo(reason="R", metadata={"a": "b"})
    messages = [write(info, VALUE), write(error_details_pb2.Help.Link(url="u"), VALUE), write(info, VALUE)]
    # One file, one version; another class of it is another index.
    assert [message[2:18] for message in messages if message] == [registry.latest("r", "flights").id.bytes] * 3
    assert registry.calls.count("create") == 1
    read = GlueDeserializer({"protobufMessageType": "POJO"}, source=registry, message_class=error_details_pb2.ErrorInfo)
    assert read(messages[0]) == info
    as_class = serializer(registry, "PROTOBUF", schema=error_details_pb2.ErrorInfo)
    assert as_class({"reason": "R", "metadata": {"a": "b"}}, VALUE) == messages[0]


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        ({"id": "x"}, IncompatibleValue, "p.Z.id"),
        ({"id": 2**40}, IncompatibleValue, "p.Z.id"),
        ({"more": [{"carrier": 5}]}, IncompatibleValue, "p.Z.more.carrier"),
        ({"legs": {"x": {"gate": 1}}}, UnknownField, "p.Z.legs.gate"),
        ([1], IncompatibleValue, "p.Z"),
        (timestamp_pb2.Timestamp(seconds=1), UnreadableSchema, ""),
    ],
)
def test_protobuf_that_does_not_fit(value: Any, kind: type[SerdeError], path: str) -> None:
    with pytest.raises(kind, match="schema r/flights") as caught:
        serializer(FakeRegistry(), "PROTOBUF", schema=PROTO, message="p.Z")(value, VALUE)
    assert caught.value.path == path


CHOICES = """syntax = "proto3"; package p; import "google/protobuf/struct.proto";
message C { oneof which { string one = 1; int32 other = 2; } bytes blob = 3; map<string, D> keys = 4;
  google.protobuf.Value any = 5; message D { repeated bytes blobs = 1; } }"""


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"one": "a", "other": 1}, "p.C.other"),
        ({"blob": "no base64?"}, "p.C.blob"),
        ({"keys": {"k": {"blobs": ["AQ==", "?"]}}}, "p.C.keys.blobs"),
    ],
)
def test_what_protobuf_would_drop_is_refused(value: dict[str, Any], path: str) -> None:
    with pytest.raises(IncompatibleValue, match="schema r/flights") as caught:
        serializer(FakeRegistry(), "PROTOBUF", schema=CHOICES)(value, VALUE)
    assert caught.value.path == path


def test_a_choice_and_bytes_in_every_form_are_written() -> None:
    registry = FakeRegistry()
    write, read = serializer(registry, "PROTOBUF", schema=CHOICES), GlueDeserializer(source=registry)
    value = {"other": 1, "one": None, "blob": "_-8=", "keys": {"k": {"blobs": [b"abcd", "AQ", "AQ=="]}}}
    # Of the bytes b"abcd" a reader of Protobuf's JSON would make other bytes: they are valid base64.
    assert read(write(value, VALUE)) == {"other": 1, "blob": "/+8=", "keys": {"k": {"blobs": ["YWJjZA==", "AQ==", "AQ=="]}}}


def test_maps_are_written_in_the_order_of_their_keys() -> None:
    proto = 'syntax = "proto3"; message O { I i = 1; message I { map<string, int32> m = 1; } }'
    write = serializer(FakeRegistry(), "PROTOBUF", schema=proto)
    keys = [str(number) for number in range(50)]
    both = [write({"i": {"m": dict.fromkeys(turned, 1)}}, VALUE) for turned in (keys, keys[::-1])]
    assert both[0] == both[1]


def test_a_message_that_has_no_form_in_json_says_where() -> None:
    registry = FakeRegistry()
    message = serializer(registry, "PROTOBUF", schema=CHOICES)({"any": float("nan")}, VALUE)
    with pytest.raises(MalformedPayload, match=r"represented in Protobuf's JSON, at p.C.any: .*schema r/flights") as caught:
        GlueDeserializer(source=registry)(message)
    assert caught.value.path == "p.C.any"


def test_a_class_that_knows_more_than_the_version_is_refused() -> None:
    registry = FakeRegistry()
    version = registry.add(PROTO, data_format="PROTOBUF")
    newer = PROTO.replace("message a { string text = 1; }", "message a { string text = 1; int32 more = 2; }")
    other = PROTO.replace("message a { string text = 1; }", "message a { bytes text = 1; }")
    write = GlueSerializer({"dataFormat": "PROTOBUF"}, version_id=version.id, source=registry)
    with pytest.raises(UnknownField, match=r"p\.a\.more \(2\)"):
        write(classes(newer)["p.a"](text="t"), VALUE)
    with pytest.raises(IncompatibleValue, match=r"p\.a\.text \(1\) has another type"):
        write(classes(other)["p.a"](text=b"t"), VALUE)
    assert write(classes(PROTO)["p.a"](text="t"), VALUE) is not None


FLOATS = """
syntax = "proto3";
message A {
  float f = 1; repeated float more = 2; map<string, float> by = 3; map<string, A> as = 4; repeated A list = 5; A a = 6;
}
"""


@pytest.mark.parametrize(
    "value",
    [
        {"f": 1e300},
        {"more": [1.0, -1e39]},
        {"by": {"x": 1e39}},
        {"as": {"x": {"f": 1e39}}},
        {"list": [{}, {"a": {"more": [1e39]}}]},
    ],
)
def test_floats_that_32_bits_do_not_hold(value: dict[str, Any]) -> None:
    with pytest.raises(IncompatibleValue, match=r"too large|too small"):
        serializer(FakeRegistry(), "PROTOBUF", schema=FLOATS)(value, VALUE)


def test_floats_that_32_bits_hold() -> None:
    registry = FakeRegistry()
    value = {"f": 0.5, "more": [1.0, "Infinity"], "by": {"x": 2.0}, "as": {"x": {"f": 4.0}}, "list": [{}, {"f": -1.5}]}
    assert GlueDeserializer(source=registry)(serializer(registry, "PROTOBUF", schema=FLOATS)(value, VALUE)) == value


def test_required_fields_of_proto2() -> None:
    text = 'syntax = "proto2"; message A { required int32 id = 1; optional A next = 2; }'
    with pytest.raises(MissingField, match=r"A\.next\.id is missing") as caught:
        serializer(FakeRegistry(), "PROTOBUF", schema=text)({"id": 1, "next": {}}, VALUE)
    assert caught.value.path == "A.next.id"
