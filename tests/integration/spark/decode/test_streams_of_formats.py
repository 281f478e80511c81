"""Topics of mixed frames, of keys with schemas of their own, and of documents without a schema, to tables."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer as ConfluentsAvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.pipelines import parse_pipeline
from penstock.serdes.kafka.confluent import ConfluentAvroSerializer
from penstock.serdes.kafka.serdes import GlueAvroSerializer
from penstock.spark.running.runner import RunOptions, RunReport, run
from penstock.testing.server import RunningServer, running_server
from tests.integration.spark.stream import Topic, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    # pyspark's collect() leaves its socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FIELDS = [{"name": "id", "type": "long"}, {"name": "text", "type": "string"}]
ORDER = {"type": "record", "name": "Order", "fields": FIELDS}
LATER = {"type": "record", "name": "Order", "fields": [*FIELDS, {"name": "more", "type": ["null", "int"], "default": None}]}
KEY = {"type": "record", "name": "OrderKey", "fields": [{"name": "shop", "type": "int"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


class Stream:
    """A topic, a table, and runs from one to the other that read what is there."""

    def __init__(self, spark: SparkSession, lake: Path, topic: Topic, registry: RegistryClient) -> None:
        self.spark, self.lake, self.topic, self.registry = spark, lake, topic, registry

    def send(
        self, value: bytes | None, key: bytes | None = None, headers: list[tuple[str, str | bytes | None]] | None = None
    ) -> None:
        producer = Producer({**self.topic.broker.client_settings, "log_level": 0})
        producer.produce(self.topic.name, value, key=key, headers=headers or [], partition=0)
        assert producer.flush(30) == 0

    def run(self, decode: Mapping[str, Any], *, extra: str = "") -> RunReport:
        broker = self.topic.broker
        kafka = {
            "brokers": broker.bootstrap,
            "topic": self.topic.name,
            "security_protocol": "SASL_PLAINTEXT",
            "username": broker.username,
            "password": broker.password,
            "includeHeaders": True,
        }
        text = f"""
name: {self.topic.name}
source: {{kafka: {json.dumps(kafka)}}}
decode: {json.dumps(decode)}
sink: {{parquet: {{location: "s3://lk/{self.topic.name}"}}}}
dead_letters: {{location: "s3://lk/dead-{self.topic.name}"}}
checkpoint: "s3://lk/checkpoint-{self.topic.name}"
batchMaxRetries: 0
{extra}
"""
        options = RunOptions(registry=self.registry, once=True)
        return run(parse_pipeline(text, environment={}), self.spark, options)

    def rows(self) -> list[dict[str, Any]]:
        return sorted(rows(self.lake, self.topic.name), key=lambda row: row["id"])

    def reasons(self) -> list[tuple[str, str | None]]:
        return sorted((row["reason"], row["schema_version_id"] or "") for row in rows(self.lake, f"dead-{self.topic.name}"))


@pytest.fixture
def stream(
    spark: SparkSession, spark_lake: Path, broker: Any, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> Stream:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return Stream(spark, spark_lake, Topic(broker, 1), RegistryClient(endpoint_url=server.endpoint_url))


def test_frames_of_both_kinds_and_keys_in_one_stream(stream: Stream, server: RunningServer) -> None:
    name, login = stream.topic.name, f"{server.access_key_id}:{server.secret_access_key}"
    subject = f"{name}-value"
    confluent = ConfluentClient(server.endpoint_url, user_info=login)
    theirs = SchemaRegistryClient({"url": server.endpoint_url, "basic.auth.user.info": login})
    value, key = SerializationContext(name, MessageField.VALUE), SerializationContext(name, MessageField.KEY)
    key_bytes = ConfluentAvroSerializer(confluent, KEY, auto_register=True)({"shop": 4}, key)
    stream.send(ConfluentsAvroSerializer(theirs, json.dumps(ORDER))({"id": 1, "text": "id"}, value), key_bytes)
    stream.send(
        ConfluentAvroSerializer(confluent, LATER, auto_register=True, id_in="guid")(
            {"id": 2, "text": "guid", "more": 5}, value
        )
    )
    named = SerializationContext(name, MessageField.VALUE, headers=[])
    bare = ConfluentAvroSerializer(confluent, ORDER, id_in="header")({"id": 3, "text": "header"}, named)
    assert isinstance(named.headers, list)
    stream.send(bare, key_bytes, named.headers)
    settings = {
        "endpoint": server.endpoint_url,
        "region": server.region,
        "registry.name": "default-registry",
        "schemaName": subject,
    }
    glue = GlueAvroSerializer(settings, schema=ORDER, source=stream.registry)
    stream.send(glue({"id": 4, "text": "glue"}, value), b"damaged")
    stream.send(glue({"id": 5, "text": "glue"}, value), key_bytes)
    stream.send(b"\x00\x00\x0f\xff\xff\x02\x02a")
    stream.send(b"\x07no frame at all")
    stream.send(None)
    decode = {"registry": "default-registry", "schema": subject, "confluent": {"user_info": login}}
    keys = {"registry": "default-registry", "schema": f"{name}-key", "confluent": {"user_info": login}}
    report = stream.run({**decode, "key": keys})
    assert (report.rows, report.dead) == (4, 3)
    assert stream.rows() == [
        {"id": 1, "text": "id", "more": None, "key_shop": 4},
        {"id": 2, "text": "guid", "more": 5, "key_shop": None},
        {"id": 3, "text": "header", "more": None, "key_shop": 4},
        {"id": 5, "text": "glue", "more": None, "key_shop": 4},
    ]
    assert stream.reasons() == [("KEY_WRONG_HEADER", ""), ("UNKNOWN_VERSION", str(0xFFFFF)), ("WRONG_HEADER", "")]


def test_a_confluent_registry_alone_is_enough(stream: Stream, server: RunningServer) -> None:
    name, login = stream.topic.name, f"{server.access_key_id}:{server.secret_access_key}"
    confluent = ConfluentClient(server.endpoint_url, user_info=login)
    value = SerializationContext(name, MessageField.VALUE)
    write = ConfluentAvroSerializer(confluent, ORDER, auto_register=True)
    for number in range(3):
        stream.send(write({"id": number, "text": "t"}, value))
    report = stream.run({"confluent": {"url": server.endpoint_url, "user_info": login, "subject": f"{name}-value"}})
    assert (report.rows, report.dead) == (3, 0)
    assert stream.rows() == [{"id": number, "text": "t"} for number in range(3)]


def test_the_schema_of_plain_documents_is_inferred_kept_and_extended(stream: Stream) -> None:
    decode = {"frames": "none", "format": "json"}
    for text in (
        '{"id":1,"place":{"x":1},"tags":["a"],"later":null}',
        '{"id":2,"name":"n"}',
        "no document",
        '{"id":3,"mixed":1}',
    ):
        stream.send(text.encode())
    report = stream.run(decode)
    assert (report.rows, report.dead) == (3, 1)
    # Another run goes on with the same schema: a known field keeps its type, a new one becomes a column.
    for text in ('{"id":4,"later":{"a":[1]},"place":{"x":2,"y":true}}', '{"id":5,"mixed":"text"}', '{"id":6}'):
        stream.send(text.encode())
    report = stream.run(decode)
    assert (report.rows, report.dead) == (2, 1)
    results = {row["id"]: {name: value for name, value in row.items() if value is not None} for row in stream.rows()}
    assert results == {
        1: {"id": 1, "place": {"x": 1, "y": None}, "tags": ["a"]},
        2: {"id": 2, "name": "n"},
        3: {"id": 3, "mixed": 1},
        4: {"id": 4, "later": {"a": [1]}, "place": {"x": 2, "y": True}},
        6: {"id": 6},
    }
    assert [reason for reason, _ in stream.reasons()] == ["UNDECODABLE", "UNDECODABLE"]
