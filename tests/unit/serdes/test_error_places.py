"""Errors say which it is and where: the path in the record, the schema's name and version, topic, partition and offset."""

import json
import socket
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from uuid import UUID

import boto3
import botocore.endpoint
import fastavro
import pytest
from botocore.compat import HTTPHeaders
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client.registry import RegistryClient
from penstock.errors import EnvironmentProblem, LimitExceeded
from penstock.serdes.errors import (
    MalformedPayload,
    NotFramed,
    SerdeError,
    TruncatedPayload,
    UnknownWriterSchema,
    UnreadableSchema,
)
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.test_kafka_serdes import Consumed

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "com.example",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}, {"name": "price", "type": ["null", "double"]}]}}},
        {"name": "notes", "type": {"type": "map", "values": "bytes"}},
        {"name": "next", "type": ["null", "Order"]},
    ],
}  # fmt: skip
PROTO = 'syntax = "proto2"; message A { optional B b = 1; message B { required int32 c = 1; } }'
VALUE = {
    "id": 300,
    "state": "PAID",
    "lines": [{"sku": "a", "price": None}, {"sku": "bé", "price": 2.5}],
    "notes": {"k": b"xyz"},
    "next": None,
}
CONTEXT = SerializationContext("orders", MessageField.VALUE)
_UUID = b"\x48" + str(UUID(int=1)).encode()


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def message(registry: FakeRegistry) -> bytes:
    version = registry.add(json.dumps(ORDER), schema="order")
    made = GlueSerializer(version_id=version.id, source=registry)(VALUE)
    assert made is not None
    return made


# id 2 bytes, state 1, count 1, sku 2, branch 1, sku 4, branch 1, price 8, end 1, count 1, key 2, value 4, end 1, branch 1
@pytest.mark.parametrize(
    ("length", "path"),
    [
        (0, "Order.id"),
        (1, "Order.id"),
        (2, "Order.state"),
        (3, "Order.lines"),
        (5, "Order.lines[0].sku"),
        (6, "Order.lines[0].price"),
        (8, "Order.lines[1].sku"),
        (12, "Order.lines[1].price"),
        (19, "Order.lines[1].price"),
        (20, "Order.lines"),
        (21, "Order.notes"),
        (24, "Order.notes['k']"),
        (28, "Order.notes"),
        (29, "Order.next"),
    ],
)
def test_where_a_payload_ends(registry: FakeRegistry, message: bytes, length: int, path: str) -> None:
    assert len(message) == 18 + 30
    with pytest.raises(SerdeError, match=r"schema r/order, version 1; topic orders\)") as caught:
        GlueDeserializer(source=registry)(message[: 18 + length], CONTEXT)
    # A recursive schema is walked before it is decoded; the path is looked for all the same.
    assert (type(caught.value), caught.value.path) == (TruncatedPayload, path)


@pytest.mark.parametrize(
    ("at", "byte", "says"),
    [
        (2, 9, "at Order.state: it names symbol -5 of 2"),
        (9, 0xFF, r"at Order.lines\[1\].sku: it is not UTF-8"),
        (6, 0x08, r"at Order.lines\[0\].price: it names branch 4 of 2"),
        (4, 0x01, r"at Order.lines\[0\].sku: it has the negative length -1"),
    ],
)
def test_where_a_payload_is_damaged(registry: FakeRegistry, message: bytes, at: int, byte: int, says: str) -> None:
    damaged = bytearray(message)
    damaged[18 + at] = byte
    with pytest.raises(MalformedPayload, match=says):
        GlueDeserializer(source=registry)(bytes(damaged), CONTEXT)


def test_which_rule_a_readers_schema_breaks(registry: FakeRegistry, message: bytes) -> None:
    stricter = json.loads(json.dumps(ORDER))
    stricter["fields"][2]["type"]["items"]["fields"].append({"name": "vat", "type": "int"})
    with pytest.raises(UnreadableSchema, match="READER_FIELD_MISSING_DEFAULT_VALUE at /lines/items/vat") as caught:
        GlueDeserializer(source=registry, reader_schema=stricter)(message, CONTEXT)
    assert caught.value.path == "Order.lines.items.vat"


@pytest.mark.parametrize(
    ("data_format", "definition", "payload", "path"),
    [
        ("JSON", '{"properties":{"a":{"items":{"type":"integer"}}}}', b'{"a":[1,"x"]}', "value.a[1]"),
        ("JSON", '{"required":["a"]}', b"{}", "value.a"),
        ("JSON", '{"items":{"properties":{"a":{}},"additionalProperties":false}}', b'[{"b":1}]', "value[0].b"),
        ("PROTOBUF", PROTO, b"\x00\x0a\x03\x08\x01\x03", "A.b"),
        ("PROTOBUF", PROTO, b"\x00\x0a\x00", "A.b.c"),
    ],
)  # fmt: skip
def test_paths_of_the_other_formats(
    registry: FakeRegistry, data_format: str, definition: str, payload: bytes, path: str
) -> None:
    version = registry.add(definition, schema="order", data_format=data_format)
    with pytest.raises(MalformedPayload, match="schema r/order, version 1; topic flights, partition 3, offset 42") as caught:
        GlueDeserializer(source=registry).message(Consumed(b"\x03\x00" + version.id.bytes + payload))  # type: ignore[arg-type]
    assert caught.value.path == path


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint at which nobody listens."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What botocore would have slept between its tries."""
    slept: list[float] = []

    class Time:
        sleep = staticmethod(slept.append)

        def __getattr__(self, name: str) -> Any:
            import time

            return getattr(time, name)

    monkeypatch.setattr(botocore.endpoint, "time", Time())
    return slept


def test_a_registry_that_is_down(registry: FakeRegistry, message: bytes, nobody: str, pauses: list[float]) -> None:
    source = RegistryClient(region="us-east-1", endpoint_url=nobody)
    read = GlueDeserializer(source=source)
    with pytest.raises(EnvironmentProblem, match=rf"{nobody} gave no usable answer in \d+\.\d s of tries"):
        read(message, CONTEXT)
    assert len(pauses) == 4
    # Exponential with jitter: never more than 1, 2, 4 and 8 seconds, and not the bounds themselves.
    assert all(0 < pause < bound for pause, bound in zip(pauses, (1, 2, 4, 8), strict=True))
    # What is known already needs no registry.
    known = registry.latest("r", "order")
    source._versions.put(known.id, known)
    assert read(message, CONTEXT) == VALUE
    with pytest.raises(EnvironmentProblem, match=r"latest version of schema default-registry/orders"):
        GlueSerializer(source=source)(VALUE, CONTEXT)


def test_a_registry_that_throttles(nobody: str, pauses: list[float]) -> None:
    session = boto3.session.Session()
    # In place of the network: what AWS answers a caller who asks too often.
    answer: Any = botocore.awsrequest.AWSResponse(nobody, 400, HTTPHeaders(), None)
    answer._content = b'{"__type":"ThrottlingException","message":"Rate exceeded"}'
    register: Any = session.events.register
    register("before-send.glue", lambda **_: answer)
    source = RegistryClient(region="us-east-1", endpoint_url=nobody, session=session)
    with pytest.raises(LimitExceeded, match=rf"Rate exceeded \(asked for .*orders at {nobody}, \d+\.\d s\)"):
        GlueSerializer(source=source)(VALUE, CONTEXT)
    assert len(pauses) == 4


@pytest.mark.parametrize(
    ("data_format", "definition", "payload", "path"),
    [
        ("JSON", "true", b'{"a":', ""),
        ("JSON", "true", b'{"a":"b', ""),
        ("JSON", "true", b'{"a":tr', ""),
        ("JSON", "true", b'{"a":1', ""),
        ("JSON", "true", b'"\\u00', ""),
        ("JSON", "true", '"é'.encode()[:-1], ""),
        ("PROTOBUF", PROTO, b"\x00\x0a\x02\x08\xff", "A.b.c"),
        ("PROTOBUF", PROTO, b"\x00\x0a\x05\x08\x01", "A.b"),
        ("PROTOBUF", PROTO, b"\x00\x19\x01", "A.3"),
    ],
)
def test_a_payload_that_is_cut_is_told_from_one_that_is_wrong(
    registry: FakeRegistry, data_format: str, definition: str, payload: bytes, path: str
) -> None:
    version = registry.add(definition, schema="order", data_format=data_format)
    with pytest.raises(TruncatedPayload, match=f"Payload of {len(payload)} bytes ends inside") as caught:
        GlueDeserializer(source=registry)(b"\x03\x00" + version.id.bytes + payload)
    assert caught.value.path == path


def test_a_logical_value_that_cannot_be_read_names_its_path(registry: FakeRegistry) -> None:
    kinds = [{"type": "string", "logicalType": "uuid"}, {"type": "long", "logicalType": "timestamp-millis"}]
    fields = [{"name": "a", "type": kinds[0]}, {"name": "b", "type": kinds[1]}]
    version = registry.add(json.dumps({"type": "record", "name": "R", "fields": fields}))
    read, frame = GlueDeserializer(source=registry), b"\x03\x00" + version.id.bytes
    for payload, path in ((b"\x04no\x00", "R.a"), (b"\x00\x00", "R.a"), (_UUID + b"\xfe" + b"\xff" * 8 + b"\x01", "R.b")):
        with pytest.raises(MalformedPayload) as caught:
            read(frame + payload)
        assert caught.value.path == path


@pytest.mark.parametrize("wrong", ["text", 5, ["a"]])
def test_what_is_no_bytes(registry: FakeRegistry, wrong: Any) -> None:
    with pytest.raises(NotFramed, match="A message must be bytes, not a"):
        GlueDeserializer(source=registry)(wrong)


def test_buffers_are_read_as_bytes(registry: FakeRegistry, message: bytes) -> None:
    read = GlueDeserializer(source=registry)
    assert read(bytearray(message)) == read(memoryview(message)) == read(message)  # type: ignore[arg-type]


def test_an_unknown_version_names_the_place(registry: FakeRegistry) -> None:
    out = BytesIO(b"\x03\x00" + bytes(16))
    out.seek(18)
    fastavro.schemaless_writer(out, fastavro.parse_schema("int"), 1)
    with pytest.raises(
        UnknownWriterSchema, match=r"version 00000000.* is unknown.*topic flights, partition 3, offset 42"
    ) as caught:
        GlueDeserializer(source=registry).message(Consumed(out.getvalue()))  # type: ignore[arg-type]
    assert caught.value.version_id == UUID(int=0)
