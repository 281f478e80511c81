"""The sections of the sinks dynamodb and kafka."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.decode import ConfluentRegistry
from penstock.pipelines.kafka import KafkaConnection
from penstock.pipelines.sinks.dynamodb import DynamoDbSink
from penstock.pipelines.sinks.encoding import Encoding
from penstock.pipelines.sinks.kafka import KafkaSink
from penstock.pipelines.sinks.kinds import parse_sinks
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.settings.document import load_document

PLAIN = "brokers: 'b:9092', security_protocol: PLAINTEXT, topic: t"


def declared(kind: str, section: str) -> SinkSettings:
    top = load_document(f"sink: {{{kind}: {{{section}}}}}", origin="shop.yaml", environment={})
    (sink,) = parse_sinks(top, Path("/"))
    return sink


def test_dynamodb() -> None:
    assert declared("dynamodb", "table: orders, mode: upsert, keys: [id], sets: [tags], conditional: false, threads: 4") == (
        DynamoDbSink(table="orders", mode="upsert", keys=("id",), sets=("tags",), conditional=False, threads=4)
    )
    plain = declared("dynamodb", "tableName: orders")
    assert plain == DynamoDbSink(table="orders")
    assert plain.description == "DynamoDB table orders"


def test_kafka() -> None:
    sink = declared("kafka", PLAIN + ", key: [a, b], headers: c, compression: zstd, options: {kafka.linger.ms: '5'}")
    assert sink == KafkaSink(
        brokers=KafkaConnection(brokers="b:9092", security_protocol="PLAINTEXT"),
        topic="t",
        key=("a", "b"),
        headers=("c",),
        compression="zstd",
        options={"kafka.linger.ms": "5"},
    )
    assert sink.description == "topic t on b:9092"
    keyed = declared("kafka", PLAIN + ", mode: upsert, keys: [id]")
    assert isinstance(keyed, KafkaSink)
    assert keyed.record_key == ("id",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("registry: r, schema: s", Encoding(format="avro", registry="r", schema="s")),
        ("registry: r, schema: s, format: json, version: 3", Encoding(format="json", registry="r", schema="s", version=3)),
        ("registry: r, schema: s, register: true", Encoding(format="avro", registry="r", schema="s", register=True)),
        (
            "confluent: {url: 'http://r', subject: s}",
            Encoding(format="avro", confluent=ConfluentRegistry(url="http://r", subject="s")),
        ),
    ],
)
def test_encodings(value: str, expected: Encoding) -> None:
    sink = declared("kafka", f"{PLAIN}, value: {{{value}}}")
    assert isinstance(sink, KafkaSink)
    assert sink.value == expected
    assert sink.value.frame == ("confluent" if expected.confluent else "glue")


@pytest.mark.parametrize(
    ("kind", "section", "message"),
    [
        ("dynamodb", "mode: upsert, keys: [id]", "'sink.dynamodb.table' is missing"),
        ("dynamodb", "table: t, conditional: false", "mode append puts new keys only"),
        ("dynamodb", "table: t, threads: 0", "not a whole number from 1"),
        ("kafka", "brokers: 'b:1', topic: t", "needs credentials"),
        ("kafka", PLAIN + ", mode: upsert, keys: [a], key: [b]", "'key' and 'keys' differ"),
        ("kafka", PLAIN + ", value: {format: avro}", "values in AVRO need a registered schema"),
        ("kafka", PLAIN + ", value: {registry: r}", "'registry' and 'schema' go together"),
        ("kafka", PLAIN + ", value: {confluent: {subject: s}}", "value.confluent needs 'url' and 'subject'"),
        ("kafka", PLAIN + ", value: {registry: r, schema: s, register: true, version: 1}", "excludes 'version'"),
        ("kafka", PLAIN + ", value: {registry: r, schema: s, format: xml}", "it can be json, avro, protobuf"),
        ("kafka", PLAIN + ", value: {format: protobuf}", "values in PROTOBUF need a registered schema"),
        ("kafka", PLAIN + ", options: {linger.ms: '5'}", "option 'linger.ms' is not one of Kafka's"),
    ],
)
def test_mistakes_name_the_line(kind: str, section: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=r"shop\.yaml:1: ") as caught:
        declared(kind, section)
    assert message in caught.value.message
