"""Which schema is written with, in every format: names of keys, derivers, the latest version, what the registry is asked."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.errors import EnvironmentProblem, InvalidInput, LimitExceeded
from penstock.serdes.errors import (
    NotFramed,
    UnreadableSchema,
)
from penstock.serdes.kafka.aio import AsyncGlueDeserializer, AsyncGlueSerializer
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.writers import VALUE, serializer

KEY = SerializationContext("flights", MessageField.KEY)


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
