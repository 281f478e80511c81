"""The classes for asyncio: what leaves the loop, and what becomes of tasks that wait for one answer of the registry."""

import asyncio
import threading
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import timestamp_pb2
from google.rpc import error_details_pb2

from penstock.serdes.avro.derived import DerivedSchemas
from penstock.serdes.errors import UnknownWriterSchema
from penstock.serdes.kafka.aio import AsyncGlueDeserializer, AsyncGlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.test_derived_schemas import FullRegistry

VALUE = SerializationContext("flights", MessageField.VALUE)
KEY = SerializationContext("flights", MessageField.KEY)
OTHER = SerializationContext("delays", MessageField.VALUE)
SETTINGS = {"registry.name": "r", "schemaAutoRegistrationEnabled": "true"}


class Slow(FakeRegistry):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = threading.Event(), threading.Event()

    def version(self, version_id: UUID) -> Any:
        self._wait()
        return super().version(version_id)

    def find_version(self, registry: str, schema: str, definition: str) -> Any:
        self._wait()
        return super().find_version(registry, schema, definition)

    def _wait(self) -> None:
        self.asked.set()
        assert self.let.wait(30)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What left the loop for a thread."""
    calls: list[Any] = []
    plain = asyncio.to_thread

    async def to_thread(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return await plain(*arguments, **named)

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    return calls


def test_topics_keys_and_classes_leave_the_loop_once_each(left: list[Any]) -> None:
    async def work(write: AsyncGlueSerializer, values: list[Any]) -> None:
        for _ in range(3):
            for value, context in zip(values, (VALUE, KEY, OTHER), strict=True):
                await write(value, context)

    asyncio.run(work(AsyncGlueSerializer(SETTINGS, schema='"int"', source=FakeRegistry()), [1, 2, 3]))
    assert len(left) == 3
    left.clear()
    messages = [error_details_pb2.ErrorInfo(reason="R"), timestamp_pb2.Timestamp(seconds=1), timestamp_pb2.Timestamp()]
    asyncio.run(work(AsyncGlueSerializer(SETTINGS | {"dataFormat": "PROTOBUF"}, source=FakeRegistry()), messages))
    assert len(left) == 3


def test_a_derived_schema_leaves_the_loop_for_what_is_new(left: list[Any]) -> None:
    registry = FullRegistry()
    write = AsyncGlueSerializer(SETTINGS, schema=DerivedSchemas(registry), source=registry)

    async def work() -> None:
        for value in ({"a": 1}, {"a": 2}, {"a": 3, "b": 1}, {"a": 4}, {"b": 5}):
            await write(value, VALUE)

    asyncio.run(work())
    # The first and the third register; what the fourth is written with is looked up by then.
    assert len(left) == 2


def ended(registry: Slow, tasks: list["asyncio.Task[Any]"]) -> Any:
    return asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_task_that_is_cancelled_leaves_the_answer_to_the_others(left: list[Any], direction: str) -> None:
    registry = Slow()
    version = registry.add('"int"', schema="flights")
    message = b"\x03\x00" + version.id.bytes + b"\x02"

    async def work() -> list[Any]:
        read, write = AsyncGlueDeserializer(source=registry), AsyncGlueSerializer(SETTINGS, schema='"int"', source=registry)
        make: Any = (lambda: read(message, VALUE)) if direction == "read" else (lambda: write(1, VALUE))
        tasks = [asyncio.create_task(make()) for _ in range(100)]
        while not registry.asked.is_set():
            await asyncio.sleep(0)
        # The first, which made the call, among them.
        for task in tasks[:50]:
            task.cancel()
        await asyncio.sleep(0)
        registry.let.set()
        answers: list[Any] = await ended(registry, tasks)
        return answers

    answers = asyncio.run(work())
    assert [type(answer) for answer in answers[:50]] == [asyncio.CancelledError] * 50
    assert answers[50:] == [1 if direction == "read" else message] * 50
    assert (len(left), len(registry.calls)) == (1, 1)


def test_an_answer_that_nobody_waits_for_any_more_serves_the_next(left: list[Any]) -> None:
    registry = Slow()
    message = b"\x03\x00" + registry.add('"int"').id.bytes + b"\x02"

    async def work() -> Any:
        read = AsyncGlueDeserializer(source=registry)
        task = asyncio.create_task(read(message))
        while not registry.asked.is_set():
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        registry.let.set()
        return await read(message)

    assert (asyncio.run(work()), len(left), registry.calls) == (1, 1, ["version"])


def test_a_failure_is_told_to_each_and_asked_once(left: list[Any]) -> None:
    registry = Slow()
    registry.let.set()

    async def work() -> list[Any]:
        read = AsyncGlueDeserializer(source=registry)
        tasks = [asyncio.create_task(read(b"\x03\x00" + bytes(16), context)) for context in (VALUE, OTHER)]
        answers: list[Any] = await ended(registry, tasks)
        return answers

    flights, delays = asyncio.run(work())
    assert isinstance(flights, UnknownWriterSchema)
    assert isinstance(delays, UnknownWriterSchema)
    assert (flights.topic, delays.topic) == ("flights", "delays")
    assert "(topic delays)" in str(delays)
    assert registry.calls == ["version"]
