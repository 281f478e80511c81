"""Schemas derived while writing: what is registered, what is asked, and what happens where several do it at once."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from threading import Barrier, Lock, Thread
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.errors import EnvironmentProblem, NotFound
from penstock.schema.compatibility import CompatibilityMode, check
from penstock.schema.formats import format_of
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import shape_of
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.derived import DerivedSchemas, UnderivableSchema
from penstock.serdes.errors import IncompatibleValue, MissingField, SerdeError, UnreadableSchema
from penstock.serdes.kafka.aio import AsyncGlueSerializer
from penstock.serdes.kinesis.serdes import KinesisSerializer
from penstock.serdes.serializer import RegistrySerializer
from tests.unit.serdes.fake_registry import FakeRegistry

AVRO = format_of("AVRO")


class FullRegistry(FakeRegistry):
    """Judges by FULL and knows equal definitions, as the registry does. ``meanwhile`` happens before a registration."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], Any]] = []
        self.refused: list[str] = []
        self.guard = Lock()

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        with self.guard:
            return super().latest(registry, schema)

    def versions(self, registry: str, schema: str) -> list[SchemaVersion]:
        with self.guard:
            self.calls.append("versions")
            return [self._by_id[known] for known in self._schemas[registry, schema]]

    def create_schema(self, registry: str, schema: str, definition: str, **settings: Any) -> tuple[UUID, str]:
        self._happen()
        with self.guard:
            return super().create_schema(registry, schema, definition, **settings)

    def register_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        self._happen()
        with self.guard:
            self.calls.append("register")
            for known in self._schemas[registry, schema]:
                if AVRO.parse(self._by_id[known].definition).fingerprint == AVRO.parse(definition).fingerprint:
                    return known, "AVAILABLE"
            latest = self._by_id[self._schemas[registry, schema][-1]]
            verdict = check(AVRO, CompatibilityMode.FULL, AVRO.parse(definition), [(1, AVRO.parse(latest.definition))])
            if not verdict.compatible:
                self.refused.append(definition)
                return latest.id, "FAILURE"
            return self.add(definition, schema=schema, registry=registry).id, "AVAILABLE"

    def _happen(self) -> None:
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def fields(self, schema: str = "s", registry: str = "r") -> list[list[str]]:
        """The names of the fields of each version."""
        known = [self._by_id[item].definition for item in self._schemas[registry, schema]]
        return [[item["name"] for item in json.loads(definition)["fields"]] for definition in known]


class Clock:
    """A clock that stands still until it is moved."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def registry() -> FullRegistry:
    return FullRegistry()


def deriving(registry: FullRegistry, **settings: Any) -> DerivedSchemas:
    return DerivedSchemas(registry, **settings)


def record(*fields: Any) -> str:
    return json.dumps({"type": "record", "name": "s", "fields": [{"name": name, "type": kind} for name, kind in fields]})


def test_the_sensor_of_the_seed(registry: FullRegistry) -> None:
    derive = deriving(registry, metadata={"by": "sensor"}, tags={"team": "iot"}, description="A sensor.")
    first = {"deviceId": "000001", "timestamp": 1}
    derive(first, "r", "sensor")
    assert registry.fields("sensor") == [["deviceId", "timestamp"]]
    settings = {key: registry.created_with[key] for key in ("compatibility", "data_format", "description", "tags")}
    assert settings == {"compatibility": "FULL", "data_format": "AVRO", "description": "A sensor.", "tags": {"team": "iot"}}
    assert registry.metadata == {"by": "sensor"}
    second = derive({**first, "temperature": 30}, "r", "sensor")
    assert registry.fields("sensor")[1:] == [["deviceId", "timestamp", "temperature"]]
    registry.calls.clear()
    assert derive({"deviceId": "000001", "timestamp": 3}, "r", "sensor") == second
    assert registry.calls == []
    # Another process, which knows nothing yet.
    assert deriving(registry)(first, "r", "sensor") == second
    assert registry.calls == ["latest"]
    assert len(registry.fields("sensor")) == 2


def test_a_batch_makes_one_version(registry: FullRegistry) -> None:
    derive = deriving(registry)
    batch = [{"id": number, f"f{number % 7}": number + number % 2 / 2} for number in range(500)]
    made = derive.cover(batch, "r", "s")
    assert made.number == 1
    assert derive.cover_shape(shape_of(batch), "r", "s").id == made.id
    assert registry.fields() == [["f0", "f1", "f2", "f3", "f4", "f5", "f6", "id"]]
    assert '"double"' in made.definition


def test_what_is_converted_is_not_held_against_the_types_there(registry: FullRegistry) -> None:
    stamp = {"type": "long", "logicalType": "timestamp-millis"}
    registry.add(record(("at", stamp), ("list", {"type": "array", "items": "int"})))
    shape = shape_of([{"at": "2026-01-01", "list": "[1]", "new": {"x": 1}}])
    with pytest.raises(UnderivableSchema, match="At /at"):
        deriving(registry).cover_shape(shape, "r", "s")
    assert deriving(registry).cover_shape(shape, "r", "s", converted=True).number == 2
    assert registry.fields()[1] == ["at", "list", "new"]


def test_a_value_that_cannot_be_written_registers_nothing(registry: FullRegistry) -> None:
    registry.add(record(("id", "int"), ("state", {"type": "enum", "name": "E", "symbols": ["ON"]})))
    derive = deriving(registry)
    with pytest.raises(MissingField):
        derive({"new": 1, "state": "ON"}, "r", "s")
    with pytest.raises(IncompatibleValue, match="ON"):
        derive({"id": 1, "state": "OFF", "new": 1}, "r", "s")
    assert len(registry.fields()) == 1


def test_a_contradiction_names_the_path_and_both_types(registry: FullRegistry) -> None:
    derive = deriving(registry)
    derive({"at": {"level": 1}}, "r", "s")
    with pytest.raises(UnderivableSchema) as refused:
        derive({"at": {"level": "high"}}, "r", "s")
    assert str(refused.value) == (
        "Schema r/s cannot be derived. At /at/level: the data has string, and the registered schema has union of null, "
        "long. A registered type cannot change, or its readers fail. Correct the data, or use a new field."
    )
    assert (refused.value.path, refused.value.reason) == ("/at/level", "underivable-schema")
    assert isinstance(refused.value, SerdeError)
    assert len(registry.fields()) == 1


def test_refused_records_are_no_stream_of_requests(registry: FullRegistry) -> None:
    clock = Clock()
    derive = deriving(registry, clock=clock, refresh_seconds=5)
    derive({"x": 1}, "r", "s")
    registry.calls.clear()
    for _ in range(20):
        with pytest.raises(UnderivableSchema):
            derive({"x": "a"}, "r", "s")
        derive({"x": 1, "not yet": None}, "r", "s")
    assert registry.calls == []
    # Somebody makes room by hand, and that is noticed in time.
    registry.add(record(("x", ["null", "long", "string"])))
    clock.seconds = 6
    assert '"string"' in derive({"x": "a"}, "r", "s")
    assert registry.calls == ["latest"]


def test_a_whole_number_that_a_double_changes_is_refused(registry: FullRegistry) -> None:
    derive = deriving(registry)
    derive({"l": [{"x": 1.5}]}, "r", "s")
    registry.calls.clear()
    derive({"l": [{"x": 2**53}]}, "r", "s")
    assert registry.calls == []
    for number in (2**53 + 1, 2**70):
        with pytest.raises(UnderivableSchema, match="At /l/items/x"):
            derive({"l": [{"x": number}]}, "r", "s")


def test_the_schemas_that_are_remembered_are_bounded(registry: FullRegistry) -> None:
    derive = deriving(registry, cache_size=2)
    for number in range(3):
        derive({"id": 1}, "r", f"s{number}")
    registry.calls.clear()
    assert [derive.known({"id": 2}, "r", f"s{number}") is not None for number in range(3)] == [False, True, True]
    derive({"id": 2}, "r", "s0")
    assert registry.calls == ["latest"]


def test_versions_are_bounded(registry: FullRegistry) -> None:
    derive = deriving(registry, max_versions=3)
    for number in range(3):
        derive({f"device{number}": 1}, "r", "s")
    with pytest.raises(UnderivableSchema, match="the data need a new version, and the schema has 3 versions already"):
        derive({"device3": 1}, "r", "s")
    assert len(registry.fields()) == 3
    assert derive({"device0": 2}, "r", "s")
    with pytest.raises(UnderivableSchema, match="more than 2 fields"):
        deriving(registry, rules=InferenceRules(max_fields=2))({"a": 1, "b": 2, "c": 3}, "r", "t")


def test_kinds_that_fastavro_would_write_as_another_are_refused(registry: FullRegistry) -> None:
    derive = deriving(registry)
    aware = {"at": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 1), "id": UUID(int=1)}
    derive(aware, "r", "s")
    for wrong in ({"at": datetime(2026, 1, 1)}, {"day": aware["at"]}, {"id": "x"}):
        with pytest.raises(UnderivableSchema, match=r"the registered schema has union of null, (long|int|string) \("):
            derive(wrong, "r", "s")


def test_two_that_create_at_once_end_in_one_schema(registry: FullRegistry) -> None:
    other = deriving(registry)
    registry.meanwhile = [lambda: other({"id": "1", "b": 2}, "r", "s")]
    definition = deriving(registry)({"id": "1", "a": 1}, "r", "s")
    assert [item["name"] for item in json.loads(definition)["fields"]] == ["b", "id", "a"]
    assert registry.fields() == [["b", "id"], ["a", "id"], ["b", "id", "a"]]


def test_two_that_extend_at_once_end_in_one_schema(registry: FullRegistry) -> None:
    one, two = deriving(registry), deriving(registry)
    one({"id": "1"}, "r", "s")
    registry.meanwhile = [lambda: two({"id": "1", "b": {"x": 1}}, "r", "s")]
    definition = one({"id": "1", "a": 1}, "r", "s")
    assert registry.fields() == [["id"], ["id", "b"], ["id", "a"], ["id", "a", "b"]]
    registry.calls.clear()
    assert one({"id": "1", "a": 1, "b": {"x": 2}}, "r", "s") == definition
    assert registry.calls == []


def test_what_another_has_united_already_is_taken(registry: FullRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = deriving(registry), deriving(registry), deriving(registry)
    one({"id": "1"}, "r", "s")

    def late(*place: str) -> list[SchemaVersion]:
        monkeypatch.undo()
        three({"z": 1, "b": 1, "a": 1}, "r", "s")
        return registry.versions(*place)

    registry.meanwhile = [lambda: two({"id": "1", "a": 2}, "r", "s")]
    monkeypatch.setattr(registry, "versions", late)
    definition = one({"id": "1", "b": 1}, "r", "s")
    assert registry.fields()[2:] == [["id", "b"], ["id", "b", "a", "z"]]
    assert definition == registry.latest("r", "s").definition


def test_what_comes_late_and_has_less_does_not_stay_the_latest(registry: FullRegistry) -> None:
    one, two = deriving(registry), deriving(registry)
    one({"id": "1"}, "r", "s")
    registry.meanwhile = [lambda: two({"id": "1", "a": 1, "b": 2}, "r", "s")]
    definition = one({"id": "1", "a": 1}, "r", "s")
    # All together is the second version, which cannot be registered again.
    assert registry.fields() == [["id"], ["id", "a", "b"], ["id", "a"], ["a", "b", "id"]]
    assert definition == registry.latest("r", "s").definition


def test_no_loser_fails_where_others_never_rest(registry: FullRegistry, caplog: pytest.LogCaptureFixture) -> None:
    one = deriving(registry)
    one({"id": "1"}, "r", "s")
    others = [deriving(registry) for _ in range(30)]

    def restless() -> None:
        registry.meanwhile = []
        number = len(registry.fields())
        others[number]({f"f{number}": 1}, "r", "s")
        registry.meanwhile = [restless]

    registry.meanwhile = [restless]
    assert '"a"' in one({"id": "1", "a": 1}, "r", "s")
    assert "Other producers kept registering versions of r/s; writing with version" in caplog.text


def test_the_same_at_once_is_one_version(registry: FullRegistry) -> None:
    one, two = deriving(registry), deriving(registry)
    one({"id": "1"}, "r", "s")
    registry.meanwhile = [lambda: two({"id": "1", "a": 1}, "r", "s")]
    one({"id": "1", "a": 5}, "r", "s")
    assert registry.fields() == [["id"], ["id", "a"]]


def test_contradictory_at_once_the_second_is_told(registry: FullRegistry) -> None:
    one, two = deriving(registry), deriving(registry)
    one({"id": "1"}, "r", "s")
    registry.meanwhile = [lambda: two({"id": "1", "a": 1, "b": 1}, "r", "s")]
    with pytest.raises(UnderivableSchema, match="At /a: the data has string, and the registered schema has"):
        one({"id": "1", "a": "x"}, "r", "s")
    assert len(registry.refused) == 1
    # What came first may also hold what was refused beside it.
    registry.meanwhile = [lambda: two({"c": {"y": 1}}, "r", "s")]
    assert '"y"' in one({"c": {"y": 1}, "b": 2}, "r", "s")


def test_a_stricter_schema_says_why(registry: FullRegistry) -> None:
    registry.add(record(("id", "int")))
    registry.register_version = lambda *_: (registry.latest("r", "s").id, "FAILURE")  # type: ignore[method-assign]
    with pytest.raises(UnreadableSchema, match="is FAILURE: it breaks the schema's compatibility mode"):
        deriving(registry)({"id": 1, "a": 1}, "r", "s")


def test_many_producers_in_threads_end_in_one_schema(registry: FullRegistry) -> None:
    barrier, failed = Barrier(6), []

    def produce(number: int) -> None:
        derive = deriving(registry)
        barrier.wait(30)
        try:
            for step in range(3):
                derive({"id": "1", f"p{number}_{step}": step}, "r", "s")
        except SerdeError as error:  # pragma: no cover - what must not happen
            failed.append(error)

    threads = [Thread(target=produce, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert sorted(registry.fields()[-1]) == sorted(["id", *(f"p{n}_{step}" for n in range(6) for step in range(3))])


def test_another_format_and_a_registry_that_is_gone(registry: FullRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.add("{}", schema="j", data_format="JSON")
    with pytest.raises(UnreadableSchema, match="r/j is JSON; AVRO schemas are derived"):
        deriving(registry)({"a": 1}, "r", "j")

    def gone(*_: Any) -> Any:
        raise EnvironmentProblem("Nobody answers.")

    derive = deriving(registry)
    derive({"a": 1}, "r", "s")
    monkeypatch.setattr(registry, "latest", gone)
    assert derive({"a": 2}, "r", "s")
    with pytest.raises(EnvironmentProblem):
        derive({"a": 2, "b": 1}, "r", "s")


SETTINGS = {"registry.name": "r", "schemaName": "s", "schemaAutoRegistrationEnabled": "true"}


def test_a_serialiser_takes_it_for_its_schema(registry: FullRegistry) -> None:
    writer = RegistrySerializer(SETTINGS, schema=deriving(registry), source=registry)
    first = writer.write({"id": "1", "empty": [], "gone": None}, "topic")
    second = writer.write({"id": "1", "t": 30}, "topic")
    assert first is not None
    assert second is not None
    assert first[2:18] != second[2:18]
    assert writer.write({"id": "1"}, "topic")[2:18] == second[2:18]  # type: ignore[index]
    with pytest.raises(UnderivableSchema, match=r"At /t.*topic"):
        writer.write({"t": "x"}, "topic")
    with pytest.raises(NotFound):
        registry.latest("r", "topic")


def test_so_do_those_of_asyncio_and_of_kinesis(registry: FullRegistry) -> None:
    derive = deriving(registry)
    kinesis = KinesisSerializer(SETTINGS, schema=derive, source=registry)
    kafka = AsyncGlueSerializer(SETTINGS, schema=derive, source=registry)
    at_once = SerializationContext("topic", MessageField.VALUE, headers=[])

    async def several() -> list[bytes | None]:
        return await asyncio.gather(*(kafka({"id": "1", f"f{number % 2}": number}, at_once) for number in range(8)))

    assert kinesis.write({"id": "1"}, "stream") is not None
    assert len(asyncio.run(several())) == 8
    assert [sorted(names) for names in registry.fields()][::2] == [["id"], ["f0", "f1", "id"]]
