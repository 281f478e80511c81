"""AWS's published Java serde and ours read each other, through one registry; its bytes are the reference for ours."""

import uuid
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client.registry import RegistryClient
from penstock.serdes.errors import UnknownWriterSchema, UnreadableSchema
from penstock.serdes.kafka.serdes import GlueAvroDeserializer, GlueAvroSerializer
from penstock.testing.server import RunningServer
from tests.integration.java_bridge import JavaSerdeError
from tests.integration.serdes.java_serde import JavaSerde

pytestmark = pytest.mark.jvm

REGISTRY = "interoperability"
FIRST: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "namespace": "nyc.flights",
    "fields": [
        {"name": "flight", "type": "int"},
        {"name": "distance", "type": "long"},
        {"name": "tailnum", "type": ["null", "string"], "default": None},
        {"name": "delay", "type": "double"},
        {"name": "carrier", "type": {"type": "enum", "name": "Carrier", "symbols": ["UA", "AA"]}},
        {"name": "stops", "type": {"type": "array", "items": "string"}},
        {"name": "seats", "type": {"type": "map", "values": "int"}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 4}},
        {"name": "raw", "type": "bytes"},
        {"name": "cancelled", "type": "boolean"},
    ],
}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "model", "type": ["null", "string"], "default": None}]}
VALUES = [
    {
        "flight": number,
        "distance": 2**40 + number,
        "tailnum": tail,
        "delay": -1.25 * number,
        "carrier": "AA",
        "stops": ["JFK", "Zürich ✈"],
        "seats": {"first": 8},
        "digest": b"\x00\xff\x10\x80",
        "raw": bytes(range(256)),
        "cancelled": bool(number % 2),
    }
    for number, tail in enumerate(["N1", None, "日本"])
]


@pytest.fixture(scope="module")
def registry(penstock_server: RunningServer) -> str:
    penstock_server.client("glue").create_registry(RegistryName=REGISTRY)
    return REGISTRY


@pytest.fixture(scope="module")
def java(penstock_server: RunningServer, registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaSerde]:
    properties = {
        "registry.name": registry,
        "avroRecordType": "GENERIC_RECORD",
        "dataFormat": "AVRO",
        "schemaAutoRegistrationEnabled": "true",
    }
    with JavaSerde("SerdeBridge", penstock_server, properties, tmp_path_factory.mktemp("java") / "log") as bridge:
        yield bridge


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_java_registers_and_writes_and_we_read(java: JavaSerde, source: RegistryClient, compression: str) -> None:
    topic = fresh("java-writes")
    messages = java.write(topic, FIRST, [*VALUES, None], compression=compression)
    read = GlueAvroDeserializer(source=source)
    assert [read(message, context(topic)) for message in messages] == [*VALUES, None]
    (version,) = source.versions(REGISTRY, topic)
    assert messages[0] is not None
    assert messages[0][2:18] == version.id.bytes


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_we_register_and_write_and_java_reads(java: JavaSerde, source: RegistryClient, compression: str) -> None:
    topic = fresh("we-write")
    write = GlueAvroSerializer(
        {"registry.name": REGISTRY, "schemaAutoRegistrationEnabled": "true", "compression": compression},
        schema=FIRST,
        source=source,
    )
    schema, found = java.read(topic, [write(value, context(topic)) for value in [*VALUES, None]])
    assert found == [*VALUES, None]
    assert [field["name"] for field in schema["fields"]] == [field["name"] for field in FIRST["fields"]]


def test_both_write_the_same_bytes_for_the_same_version(java: JavaSerde, source: RegistryClient) -> None:
    topic = fresh("same-bytes")
    theirs = java.write(topic, FIRST, VALUES)
    # Found by its definition: the spelling differs from what Java registered, the canonical form does not.
    write = GlueAvroSerializer({"registry.name": REGISTRY}, schema=FIRST, source=source)
    assert [write(value, context(topic)) for value in VALUES] == theirs
    packed = java.write(topic, FIRST, VALUES, compression="ZLIB")
    ours = GlueAvroSerializer({"registry.name": REGISTRY, "compression": "ZLIB"}, schema=FIRST, source=source)
    for mine, other in zip((ours(value, context(topic)) for value in VALUES), packed, strict=True):
        assert mine is not None
        assert other is not None
        assert mine[:18] == other[:18]
        assert zlib.decompress(mine[18:]) == zlib.decompress(other[18:])


def test_java_evolves_and_both_versions_read_as_one(java: JavaSerde, source: RegistryClient) -> None:
    topic = fresh("java-evolves")
    old = java.write(topic, FIRST, VALUES)
    new = java.write(topic, SECOND, [{**value, "model": "A320"} for value in VALUES])
    assert [version.number for version in source.versions(REGISTRY, topic)] == [1, 2]
    read = GlueAvroDeserializer(source=source, reader_schema=SECOND)
    expected = [{**value, "model": None} for value in VALUES] + [{**value, "model": "A320"} for value in VALUES]
    assert [read(message) for message in [*old, *new]] == expected
    back = GlueAvroDeserializer(source=source, reader_schema=FIRST)
    assert [back(message) for message in new] == VALUES


def test_we_evolve_and_java_reads_both(java: JavaSerde, source: RegistryClient) -> None:
    topic = fresh("we-evolve")
    settings = {"registry.name": REGISTRY, "schemaAutoRegistrationEnabled": True}
    first = GlueAvroSerializer(settings, schema=FIRST, source=source)
    second = GlueAvroSerializer(settings, schema=SECOND, source=source)
    newer = {**VALUES[0], "model": "B738"}
    assert java.read(topic, [first(VALUES[0], context(topic))])[1] == [VALUES[0]]
    assert java.read(topic, [second(newer, context(topic))])[1] == [newer]


def test_registration_leaves_the_transport_and_our_metadata(
    java: JavaSerde, source: RegistryClient, penstock_server: RunningServer
) -> None:
    glue = penstock_server.client("glue")

    def metadata(topic: str) -> dict[str, str]:
        result = glue.query_schema_version_metadata(SchemaVersionId=str(source.latest(REGISTRY, topic).id))
        return {key: value["MetadataValue"] for key, value in result["MetadataInfoMap"].items()}

    theirs, ours = fresh("theirs"), fresh("ours")
    java.write(theirs, FIRST, VALUES[:1])
    GlueAvroSerializer(
        {"registry.name": REGISTRY, "schemaAutoRegistrationEnabled": True, "compatibility": "FULL", "tags": {"team": "a"}},
        schema=FIRST,
        source=source,
    )(VALUES[0], context(ours))
    assert metadata(theirs) == {"x-amz-meta-transport": theirs}
    assert metadata(ours) == {"x-amz-meta-transport": ours}
    made = glue.get_schema(SchemaId={"RegistryName": REGISTRY, "SchemaName": ours})
    assert made["Compatibility"] == "FULL"
    assert glue.get_tags(ResourceArn=made["SchemaArn"])["Tags"] == {"team": "a"}


def test_an_incompatible_version_is_refused_on_both_sides(java: JavaSerde, source: RegistryClient) -> None:
    topic = fresh("incompatible")
    java.write(topic, FIRST, VALUES[:1])
    broken = {**FIRST, "fields": [*FIRST["fields"], {"name": "gate", "type": "string"}]}
    value = {**VALUES[0], "gate": "B7"}
    with pytest.raises(JavaSerdeError):
        java.write(topic, broken, [value])
    other = {**FIRST, "fields": [*FIRST["fields"], {"name": "pier", "type": "string"}]}
    write = GlueAvroSerializer(
        {"registry.name": REGISTRY, "schemaAutoRegistrationEnabled": True}, schema=other, source=source
    )
    with pytest.raises(UnreadableSchema, match="FAILURE"):
        write({**VALUES[0], "pier": "B"}, context(topic))


def test_without_auto_registration_nothing_is_registered(java: JavaSerde, source: RegistryClient) -> None:
    topic = fresh("manual")
    with pytest.raises(JavaSerdeError, match="auto-register"):
        java.write(topic, FIRST, VALUES[:1], schemaAutoRegistrationEnabled="false")
    with pytest.raises(Exception, match="has no version with this definition"):
        GlueAvroSerializer({"registry.name": REGISTRY}, schema=FIRST, source=source)(VALUES[0], context(topic))
    with pytest.raises(Exception, match="Schema is not found"):
        source.latest(REGISTRY, topic)


def test_unknown_version_ids_are_refused_on_both_sides(java: JavaSerde, source: RegistryClient) -> None:
    message = b"\x03\x00" + uuid.uuid4().bytes + b"\x02"
    with pytest.raises(UnknownWriterSchema, match="is unknown"):
        GlueAvroDeserializer(source=source)(message, context("t"))
    with pytest.raises(JavaSerdeError):
        java.read("t", [message])
