"""Producers that bring no schema, against a real server: what they registered is read back by boto3."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import fastavro
import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro.validation import validate_many

from penstock.client.registry import RegistryClient
from penstock.serdes.avro.derived import DerivedSchemas, UnderivableSchema
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from penstock.testing.server import RunningServer

CONTEXT = SerializationContext("sensors", MessageField.VALUE, headers=[])


@pytest.fixture
def registry(at_server: None, penstock_server: RunningServer) -> Iterator[str]:
    """A registry of its own, whose schemas go with it."""
    name = f"derived-{uuid4().hex[:8]}"
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName=name)
    yield name
    glue.delete_registry(RegistryId={"RegistryName": name})


@pytest.fixture
def versions(penstock_server: RunningServer, registry: str) -> Callable[[], list[dict[str, Any]]]:
    """The versions of schema ``sensor`` as boto3 reads them, lowest number first."""
    glue = penstock_server.client("glue")
    schema = {"RegistryName": registry, "SchemaName": "sensor"}

    def read() -> list[dict[str, Any]]:
        listed = glue.list_schema_versions(SchemaId=schema)["Schemas"]
        results = [glue.get_schema_version(SchemaVersionId=item["SchemaVersionId"]) for item in listed]
        return sorted(results, key=lambda item: int(item["VersionNumber"]))

    return read


def fields(version: dict[str, Any]) -> list[str]:
    return [item["name"] for item in json.loads(version["SchemaDefinition"])["fields"]]


def sensor(registry: str) -> Callable[[dict[str, Any]], bytes]:
    """The seed's producer: a new process, which knows nothing, adds the device and the time to an event and writes it."""
    client = RegistryClient()
    serialise = GlueSerializer(
        {
            "registry.name": registry,
            "schemaName": "sensor",
            "schemaAutoRegistrationEnabled": "true",
            "compatibility": "FULL",
        },
        schema=DerivedSchemas(client),
        source=client,
    )

    def handler(event: dict[str, Any]) -> bytes:
        message = serialise({"deviceId": "000001", "timestamp": 1_700_000_000_000, **event}, CONTEXT)
        assert message is not None
        return message

    return handler


def test_the_sensor_of_the_seed(
    penstock_server: RunningServer, registry: str, versions: Callable[[], list[dict[str, Any]]]
) -> None:
    read = GlueDeserializer({"registry.name": registry})
    empty = sensor(registry)({})
    (first,) = versions()
    assert (first["VersionNumber"], first["Status"], fields(first)) == (1, "AVAILABLE", ["deviceId", "timestamp"])

    warm = sensor(registry)({"temperature": 30})
    _, second = versions()
    assert (second["VersionNumber"], second["Status"]) == (2, "AVAILABLE")
    assert fields(second) == ["deviceId", "timestamp", "temperature"]

    again = sensor(registry)({})
    assert [version["VersionNumber"] for version in versions()] == [1, 2]

    common = {"deviceId": "000001", "timestamp": 1_700_000_000_000}
    assert read(empty, CONTEXT) == common
    assert read(warm, CONTEXT) == {**common, "temperature": 30}
    assert read(again, CONTEXT) == {**common, "temperature": None}
    # Under FULL a consumer on the first version reads the second one's records, and the other way round.
    schema = penstock_server.client("glue").get_schema(SchemaId={"RegistryName": registry, "SchemaName": "sensor"})
    assert schema["Compatibility"] == "FULL"
    old = GlueDeserializer({"registry.name": registry}, reader_schema=first["SchemaDefinition"])
    new = GlueDeserializer({"registry.name": registry}, reader_schema=second["SchemaDefinition"])
    assert old(warm, CONTEXT) == common
    assert new(empty, CONTEXT) == {**common, "temperature": None}

    with pytest.raises(UnderivableSchema, match=r"At /temperature: the data has string, .* union of null, long"):
        sensor(registry)({"temperature": "hot"})
    assert [version["Status"] for version in versions()] == ["AVAILABLE", "AVAILABLE"]


def test_records_of_many_devices_make_few_versions(registry: str, versions: Callable[[], list[dict[str, Any]]]) -> None:
    def record(number: int) -> dict[str, Any]:
        made: dict[str, Any] = {"deviceId": f"{number % 500:06}", "timestamp": number, "level": number / 4}
        if number % 7 == 0:
            made["position"] = {"lat": 40.5, "lon": -73.5, **({"height": 3} if number % 21 == 0 else {})}
        if number % 11 == 0:
            made["alarms"] = [{"code": number, "text": None if number % 2 else "hot"}] if number % 3 else []
        return made

    records = [record(number) for number in range(2_000)]
    derive = DerivedSchemas(RegistryClient())
    for start in range(0, len(records), 500):
        derive.cover(records[start : start + 500], registry, "sensor")
    assert len(versions()) == 1
    parsed = fastavro.parse_schema(json.loads(versions()[0]["SchemaDefinition"]))
    assert validate_many(records, parsed, raise_errors=True)

    # One by one there are as many versions as fields came to be known later, and not one for each record.
    client = RegistryClient()
    one_by_one = DerivedSchemas(client)
    for item in records:
        one_by_one(item, registry, "each")
    known = client.versions(registry, "each")
    assert len(known) <= 6
    assert sorted(item["name"] for item in json.loads(known[-1].definition)["fields"]) == sorted(fields(versions()[0]))


def test_two_producers_at_once_end_in_one_schema(registry: str, versions: Callable[[], list[dict[str, Any]]]) -> None:
    barrier = Barrier(2)

    def produce(name: str) -> list[bytes]:
        handler = sensor(registry)
        barrier.wait(30)
        return [handler({f"{name}{number}": number}) for number in range(4)]

    with ThreadPoolExecutor(2) as pool:
        written = list(pool.map(produce, ["left", "right"]))
    results = versions()
    assert {version["Status"] for version in results} == {"AVAILABLE"}
    expected = {"deviceId", "timestamp"} | {f"{name}{number}" for name in ("left", "right") for number in range(4)}
    assert set(fields(results[-1])) == expected
    # Each needs four; where both extended one version there is a third that unites the two.
    assert len(results) <= 16
    read = GlueDeserializer({"registry.name": registry}, reader_schema=results[-1]["SchemaDefinition"])
    values = [read(message, CONTEXT) for messages in written for message in messages]
    keys = [f"{name}{number}" for name in ("left", "right") for number in range(4)]
    assert [value[key] for value, key in zip(values, keys, strict=True)] == [0, 1, 2, 3, 0, 1, 2, 3]
