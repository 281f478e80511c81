"""The façade's serde, over a registry in memory."""

import json
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer

from awsglue.schema_registry.confluent_kafka_serde import (
    AvroSerDe,
    GlueSchemaRegistryDeserializer,
    GlueSchemaRegistrySerializer,
)
from penstock.errors import NotFound
from penstock.schema.version import SchemaVersion
from penstock.serdes.errors import MissingField, UnknownWriterSchema

OLD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
NEW = {"type": "record", "name": "R", "fields": [*OLD["fields"], {"name": "b", "type": "string", "default": "x"}]}


class Registry:
    """Two versions of a schema, and a count of the calls."""

    def __init__(self) -> None:
        self.asked = 0
        self.versions = {
            version.id: version
            for version in (
                SchemaVersion(
                    id=uuid4(),
                    schema_arn="",
                    registry_name="r",
                    schema_name="s",
                    number=number,
                    definition=json.dumps(definition),
                    data_format="AVRO",
                )
                for number, definition in enumerate((OLD, NEW), 1)
            )
        }
        self.old, self.new = self.versions

    def version(self, version_id: Any) -> SchemaVersion:
        self.asked += 1
        if version_id not in self.versions:
            raise NotFound("Schema version is not found.")
        return self.versions[version_id]


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_values_are_written_with_and_resolved_to_the_named_version(registry: Registry) -> None:
    old, new = (AvroSerDe(schema_id=str(item), source=registry) for item in (registry.old, registry.new))
    assert registry.asked == 0
    first, second = old.serialize({"a": 1}), new.serialize({"a": 2, "b": "y"}, "topic")
    assert first is not None
    assert second is not None
    assert (first[2:18], second[2:18]) == (registry.old.bytes, registry.new.bytes)
    assert [old.deserialize(item) for item in (first, second, None)] == [{"a": 1}, {"a": 2}, None]
    assert [new.deserialize(item) for item in (first, second)] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert old.serialize(None) is None


def test_errors_name_field_schema_and_topic(registry: Registry) -> None:
    serde = AvroSerDe(schema_id=registry.old, source=registry)
    with pytest.raises(MissingField, match=r"R\.a is missing.*\(schema r/s, version 1; topic orders\)"):
        serde.serialize({}, "orders")
    with pytest.raises(UnknownWriterSchema, match="topic orders"):
        serde.deserialize(b"\x03\x00" + bytes(17), "orders")


def test_serialiser_and_deserialiser_are_confluents(registry: Registry) -> None:
    write = GlueSchemaRegistrySerializer(registry.new, properties={"compression": "ZLIB"}, source=registry)
    read = GlueSchemaRegistryDeserializer(registry.old, source=registry)
    assert isinstance(write, Serializer)
    assert isinstance(read, Deserializer)
    context = SerializationContext("orders", MessageField.VALUE)
    message = write({"a": 1, "b": "y"}, context)
    assert message is not None
    assert message[:2] == b"\x03\x05"
    assert read(message, context) == {"a": 1}
    assert GlueSchemaRegistryDeserializer(source=registry).deserialize(message) == {"a": 1, "b": "y"}
