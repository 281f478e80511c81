"""The classes that plug into confluent-kafka, and the configuration names they take."""

import json
import subprocess
import sys
import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client.registry import RegistryClient
from penstock.errors import InvalidInput
from penstock.serdes.avro.derived import DerivedSchemas
from penstock.serdes.config import SerdeConfig
from penstock.serdes.errors import (
    IncompatibleValue,
    MissingField,
    NotFramed,
    SerdeError,
    TrailingBytes,
    TruncatedFrame,
    UnknownWriterSchema,
    UnreadableSchema,
)
from penstock.serdes.frame import Compression
from penstock.serdes.kafka.serdes import GlueAvroDeserializer, GlueAvroSerializer, GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
NEWER = {"type": "record", "name": "R", "fields": [*SCHEMA["fields"], {"name": "b", "type": "string", "default": "x"}]}
TOPIC = SerializationContext("flights", MessageField.VALUE)


class Consumed:
    """What a consumer's message has that we read."""

    def __init__(self, value: bytes | None) -> None:
        self._value = value

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        return self._value

    def headers(self) -> None:
        return None

    def topic(self) -> str:
        return "flights"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 42


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
def test_round_trip_with_auto_registration(registry: FakeRegistry, compression: str) -> None:
    write = GlueAvroSerializer(
        {"registry.name": "r", "schemaAutoRegistrationEnabled": "true", "compression": compression},
        schema=SCHEMA,
        source=registry,
    )
    message = write({"a": 5}, TOPIC)
    assert message is not None
    assert GlueAvroDeserializer(source=registry)(message, TOPIC) == {"a": 5}
    assert registry.calls == ["find", "create", "metadata", "version"]
    assert registry.metadata == {"x-amz-meta-transport": "flights"}
    assert registry.latest("r", "flights").id == UUID(bytes=message[2:18])


def test_the_registry_is_asked_once(registry: FakeRegistry) -> None:
    registry.add(json.dumps(SCHEMA))
    write = GlueAvroSerializer({"registry.name": "r", "schemaName": "s"}, source=registry)
    read = GlueAvroDeserializer(source=registry)
    for number in range(100):
        assert read(write({"a": number}, TOPIC)) == {"a": number}
    assert registry.calls == ["latest", "version"]


def test_the_registry_is_asked_once_by_many_threads(registry: FakeRegistry) -> None:
    write = GlueAvroSerializer({"registry.name": "r", "schemaAutoRegistrationEnabled": True}, schema=SCHEMA, source=registry)
    together = threading.Barrier(8)

    def work() -> None:
        together.wait()
        write({"a": 1}, TOPIC)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.calls == ["find", "create", "metadata"]


def test_latest_is_asked_again_after_its_time(registry: FakeRegistry) -> None:
    now = [0.0]
    registry.add(json.dumps(SCHEMA))
    properties = {"registry.name": "r", "schemaName": "s", "timeToLiveMillis": "60000"}
    write = GlueAvroSerializer(properties, source=registry, clock=lambda: now[0])
    first = write({"a": 1}, TOPIC)
    newer = registry.add(json.dumps(NEWER))
    now[0] = 30.0
    again = write({"a": 1}, TOPIC)
    now[0] = 76.0
    later = write({"a": 1}, TOPIC)
    assert first == again
    assert later is not None
    assert later[2:18] == newer.id.bytes


def test_pinned_version_and_reader_schema(registry: FakeRegistry) -> None:
    old, new = registry.add(json.dumps(SCHEMA)), registry.add(json.dumps(NEWER))
    first = GlueAvroSerializer(version_id=old.id, source=registry)({"a": 1})
    second = GlueAvroSerializer(version_id=str(new.id), source=registry)({"a": 2, "b": "y"})
    read = GlueAvroDeserializer(source=registry, reader_schema=NEWER)
    assert [read(first), read(second)] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_tombstones(registry: FakeRegistry) -> None:
    assert GlueAvroSerializer(schema=SCHEMA, source=registry)(None, TOPIC) is None
    assert GlueAvroDeserializer(source=registry)(None, TOPIC) is None
    assert registry.calls == []


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda message: b"", TruncatedFrame),
        (lambda message: message[:17], TruncatedFrame),
        (lambda message: b"\x00" + message[1:], NotFramed),
        (lambda message: message[:2] + uuid4().bytes + message[18:], UnknownWriterSchema),
        (lambda message: message + b"\x00", TrailingBytes),
    ],
)
def test_damaged_messages_say_where_they_are(registry: FakeRegistry, damage: Any, kind: type[SerdeError]) -> None:
    version = registry.add(json.dumps(SCHEMA))
    message = GlueAvroSerializer(version_id=version.id, source=registry)({"a": 5})
    read = GlueAvroDeserializer(source=registry)
    with pytest.raises(kind, match=r"[(; ]topic flights, partition 3, offset 42\)") as caught:
        read.message(Consumed(damage(message)))  # type: ignore[arg-type]
    assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("flights", 3, 42)
    with pytest.raises(kind, match=r"[(; ]topic flights\)"):
        read(damage(message), TOPIC)


def test_values_that_do_not_fit_name_topic_and_path(registry: FakeRegistry) -> None:
    version = registry.add(json.dumps(SCHEMA))
    write = GlueAvroSerializer(version_id=version.id, source=registry)
    with pytest.raises(MissingField, match=r"R\.a is missing.*\(schema r/s, version 1; topic flights\)"):
        write({}, TOPIC)
    with pytest.raises(IncompatibleValue, match=r"R\.a is 'x'"):
        write({"a": "x"}, TOPIC)


def test_versions_of_other_formats_are_named(registry: FakeRegistry) -> None:
    version = registry.add("{}", data_format="JSON")
    with pytest.raises(UnreadableSchema, match="is JSON"):
        GlueAvroSerializer(version_id=version.id, source=registry)({"a": 5})
    with pytest.raises(UnreadableSchema, match="is JSON"):
        GlueAvroDeserializer(source=registry)(b"\x03\x00" + version.id.bytes)


def test_reader_forgets_the_oldest_version(registry: FakeRegistry) -> None:
    read = GlueAvroDeserializer({"cacheSize": "2"}, source=registry)
    messages = [b"\x03\x00" + registry.add(json.dumps(SCHEMA)).id.bytes + b"\x02" for _ in range(3)]
    for message in [*messages, messages[2], messages[0]]:
        assert read(message) == {"a": 1}
    assert registry.calls == ["version"] * 4


def test_awss_property_names() -> None:
    config = SerdeConfig.from_properties(
        {
            "region": "eu-west-1",
            "endpoint": "http://127.0.0.1:1",
            "registry.name": "r",
            "schemaName": "s",
            "dataFormat": "AVRO",
            "schemaAutoRegistrationEnabled": "TRUE",
            "compatibility": "full_all",
            "compression": "zlib",
            "cacheSize": "10",
            "timeToLiveMillis": 5000,
            "description": "d",
            "tags": {"a": "b"},
            "metadata": {"c": "d"},
            "avroRecordType": "GENERIC_RECORD",
        }
    )
    assert (config.region, config.endpoint_url, config.registry, config.schema) == (
        "eu-west-1",
        "http://127.0.0.1:1",
        "r",
        "s",
    )
    assert (config.auto_register, config.compatibility, config.compression) == (True, "FULL_ALL", Compression.ZLIB)
    assert (config.cache_size, config.ttl_seconds, config.description) == (10, 5.0, "d")
    assert (config.tags, config.metadata) == ({"a": "b"}, {"c": "d"})
    assert SerdeConfig.from_properties({}) == SerdeConfig()


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"registryName": "r"}, "Unknown serde property 'registryName'"),
        ({"compression": "LZ4"}, "it must be NONE or ZLIB"),
        ({"cacheSize": "0"}, "'cacheSize' cannot be '0'"),
        ({"cacheSize": "many"}, "'cacheSize' cannot be 'many': it must be a whole number, 1 or more"),
        ({"timeToLiveMillis": 2.5}, "'timeToLiveMillis' cannot be 2.5: it must be a whole number, 1 or more"),
        ({"compatibility": "SIDEWARD"}, "it must be one of BACKWARD"),
        ({"schemaAutoRegistrationEnabled": "perhaps"}, "true or false"),
        ({"tags": "a=b"}, "'tags' cannot be 'a=b': it must be a mapping of names to strings"),
        ({"dataFormat": "THRIFT"}, "one of AVRO, JSON, PROTOBUF"),
    ],
)
def test_wrong_properties(properties: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        SerdeConfig.from_properties(properties)


def test_wrong_settings(registry: FakeRegistry) -> None:
    with pytest.raises(InvalidInput, match="Unknown serde setting"):
        GlueAvroSerializer(schema=SCHEMA, source=registry, colour="red")
    with pytest.raises(InvalidInput, match="not both"):
        GlueAvroSerializer(schema=SCHEMA, version_id=uuid4(), source=registry)
    with pytest.raises(InvalidInput, match="'v1' is not a schema version id"):
        GlueAvroSerializer(version_id="v1", source=registry)
    with pytest.raises(InvalidInput, match="The schema deriver makes AVRO schemas, and dataFormat is JSON"):
        GlueSerializer({"dataFormat": "JSON"}, schema=DerivedSchemas(RegistryClient(region="eu-west-1")), source=registry)
    with pytest.raises(InvalidInput, match="No schema name"):
        GlueAvroSerializer(schema=SCHEMA, source=registry)({"a": 1})


# The names in AWSSchemaRegistryConstants of AWS's jar 1.1.27, with values as Java programs set them.
JAVA = {
    "proxyUrl": "http://127.0.0.1:3128",
    "endpoint": "http://127.0.0.1:1",
    "region": "us-east-1",
    "compression": "ZLIB",
    "schemaName": "s",
    "schemaNameGenerationClass": "com.amazonaws.services.schemaregistry.common.AWSSchemaNamingStrategyDefaultImpl",
    "dataFormat": "PROTOBUF",
    "timeToLiveMillis": "86400000",
    "cacheSize": "200",
    "avroRecordType": "SPECIFIC_RECORD",
    "protobufMessageType": "DYNAMIC_MESSAGE",
    "registry.name": "r",
    "compatibility": "BACKWARD",
    "description": "d",
    "secondaryDeserializer": "org.apache.kafka.common.serialization.StringDeserializer",
    "schemaAutoRegistrationEnabled": "true",
    "tags": {"team": "a"},
    "metadata": {"k": "v"},
    "jacksonSerializationFeatures": ["INDENT_OUTPUT"],
    "jacksonDeserializationFeatures": ["EAGER_DESERIALIZER_FETCH"],
    "userAgentApp": "app",
    "assumeRoleArn": "arn:aws:iam::000000000000:role/r",
    "assumeRoleSessionName": "session",
}


def test_every_name_of_the_java_serde_is_taken(registry: FakeRegistry) -> None:
    config = SerdeConfig.from_properties(JAVA)
    assert (config.data_format, config.message_type) == ("PROTOBUF", "DYNAMIC_MESSAGE")
    assert (config.assume_role_arn, config.assume_role_session, config.proxy_url) == (
        "arn:aws:iam::000000000000:role/r",
        "session",
        "http://127.0.0.1:3128",
    )
    GlueAvroSerializer({**JAVA, "dataFormat": "AVRO"}, schema=SCHEMA, source=registry)
    assert GlueAvroDeserializer({**JAVA, "dataFormat": "AVRO"}, source=registry)(b"plain") == "plain"
    with pytest.raises(InvalidInput, match="avroRecordType"):
        SerdeConfig.from_properties({"avroRecordType": "RECORD"})
    with pytest.raises(InvalidInput, match="POJO needs a class"):
        GlueAvroDeserializer({"protobufMessageType": "POJO"}, source=registry)


def test_without_confluent_kafka_its_extra_is_named() -> None:
    for module in ("penstock.serdes.kafka.aio", "awsglue.schema_registry.confluent_kafka_serde"):
        code = f"import sys; sys.modules['confluent_kafka'] = None\nimport {module}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "pip install 'penstock[kafka]'" in done.stderr.splitlines()[-1]
