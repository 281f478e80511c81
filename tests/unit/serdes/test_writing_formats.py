"""JSON and Protobuf written in AWS's frame: the payload's bytes, what is refused and where, what the registry is asked."""

import asyncio
import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import timestamp_pb2
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2

from penstock.errors import EnvironmentProblem, InvalidInput, LimitExceeded
from penstock.serdes.errors import (
    IncompatibleValue,
    MalformedPayload,
    MissingField,
    NotFramed,
    SerdeError,
    UnknownField,
    UnreadableSchema,
)
from penstock.serdes.kafka.aio import AsyncGlueDeserializer, AsyncGlueSerializer
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.test_other_formats import PROTO, classes

FLIGHT = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "delay": {"type": ["number", "null"]}, "legs": {"items": {"type": "string"}}},
    "required": ["id"],
    "additionalProperties": False,
}
VALUE = SerializationContext("flights", MessageField.VALUE)
KEY = SerializationContext("flights", MessageField.KEY)


def serializer(registry: FakeRegistry, data_format: str, **settings: Any) -> GlueSerializer:
    properties = {"dataFormat": data_format, "registry.name": "r", "schemaAutoRegistrationEnabled": True}
    return GlueSerializer(properties, source=registry, **settings)


# What Jackson 2.12 writes for the same values, on a JVM of version 17.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.10, "1.1"),
        (1e10, "1.0E10"),
        (0.00001, "1.0E-5"),
        (0.000999, "9.99E-4"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (-0.0, "-0.0"),
        (5e-324, "4.9E-324"),
        (1.5e300, "1.5E300"),
        (2**70, "1180591620717411303424"),
        ('a\x1f\x00\u2028é✈"\\u001f\x7f\\', '"a\\u001F\\u0000\u2028é✈\\"\\\\u001f\x7f\\\\"'),
        ({"b": [1e10, None, "1e10"], "a": 0.0001}, '{"b":[1.0E10,null,"1e10"],"a":1.0E-4}'),
        ([True, 0, "0.0001"], '[true,0,"0.0001"]'),
    ],
)
def test_json_is_what_jackson_writes(value: Any, text: str) -> None:
    registry = FakeRegistry()
    message = serializer(registry, "JSON", schema="true")(value, VALUE)
    assert message is not None
    assert message[18:].decode() == text
    assert GlueDeserializer(source=registry)(message, VALUE) == value


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        ({}, MissingField, "value.id"),
        ({"id": "x"}, IncompatibleValue, "value.id"),
        ({"id": 1, "legs": ["a", 3]}, IncompatibleValue, "value.legs[1]"),
        ({"id": 1, "gate": "B"}, UnknownField, "value.gate"),
        ({"id": 1, "delay": float("nan")}, IncompatibleValue, "value.delay"),
        ({"id": 1, 2: 3}, IncompatibleValue, "value"),
        ({"id": object()}, IncompatibleValue, "value.id"),
        ({"id": float("inf")}, IncompatibleValue, "value.id"),
    ],
)
def test_json_that_does_not_fit(value: Any, kind: type[SerdeError], path: str) -> None:
    registry = FakeRegistry()
    with pytest.raises(kind, match=r"\(schema r/flights, version [0-9a-f-]{36}; topic flights\)") as caught:
        serializer(registry, "JSON", schema=FLIGHT)(value, VALUE)
    assert (caught.value.path, caught.value.schema) == (path, "r/flights")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_json_has_not_are_not_written_as_null(number: float) -> None:
    with pytest.raises(IncompatibleValue, match="cannot be written as JSON"):
        serializer(FakeRegistry(), "JSON", schema="true")({"a": number}, VALUE)


def test_json_that_contains_itself() -> None:
    value: dict[str, Any] = {"id": 1}
    value["legs"] = [value]
    with pytest.raises(SerdeError, match="nests deeper"):
        serializer(FakeRegistry(), "JSON", schema="true")(value, VALUE)


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


@pytest.mark.parametrize("value", ["a text", 5, None, [1, 2], {"a": 1}])
def test_avro_at_the_top_level(value: Any) -> None:
    registry = FakeRegistry()
    schema = ["null", "string", "long", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}]
    write = serializer(registry, "AVRO", schema=schema)
    assert GlueDeserializer(source=registry)(write(value, VALUE)) == value


def test_keys_have_a_name_of_their_own() -> None:
    registry = FakeRegistry()
    write = serializer(registry, "AVRO", schema='"string"')
    write("k", KEY)
    write("v", VALUE)
    write("k", KEY)
    assert set(registry._schemas) == {("r", "flights"), ("r", "flights-key")}
    properties = {
        "registry.name": "r",
        "schemaName": "both",
        "key.schemaName": "mine",
        "schemaAutoRegistrationEnabled": "true",
    }
    named = GlueSerializer(properties, schema='"string"', source=registry)
    named("k", KEY)
    named("v", VALUE)
    assert set(registry._schemas) >= {("r", "mine"), ("r", "both")}
    by_function = {**properties, "schemaName": None, "key.schemaName": None}
    naming: Callable[[str, bool], str] = lambda topic, is_key: f"{topic}.{'k' if is_key else 'v'}"  # noqa: E731
    GlueSerializer({**by_function, "schemaNameGenerationClass": naming}, schema='"int"', source=registry)(1, VALUE)
    assert ("r", "flights.v") in registry._schemas
    with pytest.raises(InvalidInput, match="do not run here"):
        GlueSerializer({"schemaNameGenerationClass": "com.example.Naming"}, schema='"int"', source=registry)


def test_a_deriver_says_the_schema_of_each_value() -> None:
    registry = FakeRegistry()
    asked: list[tuple[str, str]] = []

    def derive(value: Any, registry_name: str, schema: str) -> Any:
        asked.append((registry_name, schema))
        fields = [{"name": name, "type": "int", "default": 0} for name in sorted(value)]
        return {"type": "record", "name": "Sensor", "fields": fields}

    write = serializer(registry, "AVRO", schema=derive)
    values = [{}, {"a": 1}, {}, {"a": 2}]
    messages = [write(value, VALUE) for value in values]
    assert [GlueDeserializer(source=registry)(message) for message in messages] == values
    assert (registry.calls.count("create"), registry.calls.count("register")) == (1, 1)
    assert asked == [("r", "flights")] * 4


class Failing(FakeRegistry):
    """A registry that can be down."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    def latest(self, registry: str, schema: str) -> Any:
        if self.error is not None:
            self.calls.append("latest")
            raise self.error
        return super().latest(registry, schema)


@pytest.mark.parametrize("error", [EnvironmentProblem("down"), LimitExceeded("throttled")])
def test_the_latest_version_goes_on_serving_while_the_registry_does_not(error: Exception) -> None:
    now, registry = [0.0], Failing()
    registry.add('"int"', schema="flights")
    write = GlueSerializer(
        {"registry.name": "r", "timeToLiveMillis": "60000"}, source=registry, clock=lambda: now[0], jitter=lambda: 1.0
    )
    first = write(1, VALUE)
    registry.error, now[0] = error, 61.0
    assert write(1, VALUE) == first
    tries = []
    for second in range(62, 200):
        now[0] = float(second)
        before = registry.calls.count("latest")
        assert write(1, VALUE) == first
        tries += [second] * (registry.calls.count("latest") - before)
    # 1, 2, 4, 8, ... seconds after the failure before: jitter stands at its most.
    assert tries == [62, 64, 68, 76, 92, 124, 184]
    registry.error, now[0] = None, 300.0
    newer = registry.add('["null", "int"]', schema="flights")
    message = write(1, VALUE)
    assert message is not None
    assert message[2:18] == newer.id.bytes


class Slow(FakeRegistry):
    """A registry that answers only once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()
        self.may.set()

    def latest(self, registry: str, schema: str) -> Any:
        assert self.may.wait(60)
        return super().latest(registry, schema)


def test_the_latest_version_goes_on_serving_while_the_registry_is_slow() -> None:
    now, registry = [0.0], Slow()
    registry.add('"int"', schema="flights")
    properties = {"registry.name": "r", "timeToLiveMillis": "60000"}
    write = GlueSerializer(properties, source=registry, clock=lambda: now[0], jitter=lambda: 1.0, patience=0.0)
    first = GlueSerializer(properties, source=registry)(1, VALUE)
    assert write(1, VALUE) == first
    newer = registry.add('["null", "int"]', schema="flights")
    registry.may.clear()
    now[0] = 61.0
    assert write(1, VALUE) == first
    now[0] = 63.0
    assert write(1, VALUE) == first
    registry.may.set()
    write._patience = 60.0
    now[0] = 70.0
    message = write(1, VALUE)
    assert message is not None
    assert message[2:18] == newer.id.bytes
    # One question for all that waited, beside the two of the beginning.
    assert registry.calls.count("latest") == 3


def test_the_first_lookup_fails_where_the_registry_does() -> None:
    registry = Failing()
    registry.error = EnvironmentProblem("down")
    with pytest.raises(EnvironmentProblem, match="down"):
        GlueSerializer({"registry.name": "r"}, source=registry)(1, VALUE)


def test_a_secondary_deserialiser_reads_what_has_no_frame() -> None:
    registry = FakeRegistry()
    framed = serializer(registry, "AVRO", schema='"string"')("x", VALUE)
    read = GlueDeserializer({"secondaryDeserializer": lambda data, ctx: (data, ctx.topic)}, source=registry)
    assert read(b"plain", VALUE) == (b"plain", "flights")
    assert read(framed, VALUE) == "x"
    java = "org.apache.kafka.common.serialization.StringDeserializer"
    assert GlueDeserializer({"secondaryDeserializer": java}, source=registry)(b"plain", VALUE) == "plain"
    with pytest.raises(NotFramed):
        GlueDeserializer(source=registry)(b"plain, and longer than a header", VALUE)
    with pytest.raises(InvalidInput, match=r"schema\.registry\.url"):
        GlueDeserializer({"secondaryDeserializer": "io.confluent.kafka.serializers.KafkaAvroDeserializer"}, source=registry)
    with pytest.raises(InvalidInput, match="does not run here"):
        GlueDeserializer({"secondaryDeserializer": "com.example.Mine"}, source=registry)


class Watched(FakeRegistry):
    """Notes the threads that ask it."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[str] = set()

    def version(self, version_id: Any) -> Any:
        self.threads.add(threading.current_thread().name)
        return super().version(version_id)

    def latest(self, registry: str, schema: str) -> Any:
        self.threads.add(threading.current_thread().name)
        return super().latest(registry, schema)


@pytest.mark.parametrize("data_format", ["AVRO", "JSON", "PROTOBUF"])
def test_asyncio_asks_the_registry_once_and_outside_the_loop(data_format: str) -> None:
    registry = Watched()
    definition = {
        "AVRO": '{"type":"map","values":"int"}',
        "JSON": "true",
        "PROTOBUF": 'syntax="proto3"; message A {int32 a=1;}',
    }
    registry.add(definition[data_format], data_format=data_format, schema="flights")

    async def work() -> list[Any]:
        properties = {"registry.name": "r", "dataFormat": data_format}
        write, read = AsyncGlueSerializer(properties, source=registry), AsyncGlueDeserializer(source=registry)
        messages = await asyncio.gather(*(write({"a": number}, VALUE) for number in range(20)))
        assert await write(None, VALUE) is None
        assert await read(None, VALUE) is None
        return [json.dumps(value) for value in await asyncio.gather(*(read(message, VALUE) for message in messages))]

    assert asyncio.run(work()) == [
        json.dumps({"a": number}) if number or data_format != "PROTOBUF" else "{}" for number in range(20)
    ]
    assert (registry.calls.count("latest"), threading.current_thread().name in registry.threads) == (1, False)


@pytest.mark.parametrize(
    ("data_format", "definition"),
    [("AVRO", '{"type":"recrd"}'), ("JSON", '{"type":"objct"}'), ("PROTOBUF", 'syntax = "proto3"; message A { x y = 1; }')],
)
def test_what_is_no_schema_is_not_registered(data_format: str, definition: str) -> None:
    registry = FakeRegistry()
    with pytest.raises(UnreadableSchema, match=r"\(schema r/flights; topic flights\)"):
        serializer(registry, data_format, schema=definition)({}, VALUE)
    assert registry.calls == []


def test_defaults_of_bytes_are_bytes() -> None:
    two = {"type": "fixed", "name": "Two", "size": 2}
    fields = [
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "two", "type": ["null", two], "default": None},
        {"name": "all", "type": {"type": "array", "items": "Two"}, "default": ["ab"]},
        {
            "name": "in",
            "type": {"type": "record", "name": "I", "fields": [{"name": "b", "type": "bytes"}]},
            "default": {"b": "\u0001"},
        },
    ]
    registry = FakeRegistry()
    expected = {"raw": b"\xff", "two": None, "all": [b"ab"], "in": {"b": b"\x01"}}
    full = serializer(registry, "AVRO", schema={"type": "record", "name": "R", "fields": fields})
    message = full({}, VALUE)
    assert GlueDeserializer(source=registry)(message) == expected
    empty = serializer(registry, "AVRO", schema={"type": "record", "name": "R", "fields": []})
    reader = GlueDeserializer(source=registry, reader_schema={"type": "record", "name": "R", "fields": fields})
    assert reader(empty({}, VALUE)) == expected
