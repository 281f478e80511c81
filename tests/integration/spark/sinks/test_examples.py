"""The example pipelines of these sinks, run as they are: from a topic to PostgreSQL, DynamoDB and another topic."""

import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from penstock.client.registry import RegistryClient
from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.running.runner import RunOptions, RunReport, run
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.server import RunningServer
from tests.integration.spark import stream
from tests.integration.spark.sinks.database import DatabaseTarget
from tests.integration.spark.sinks.topics import TopicTarget
from tests.integration.spark.stream import Registry, Topic, frame

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXAMPLES = Path(__file__).parents[4] / "examples"
FIELDS: list[Mapping[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "country", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
]
ORDER = {"type": "record", "name": "Order", "fields": FIELDS}
NOTED = {**ORDER, "fields": [*FIELDS, {"name": "note", "type": ["null", "string"], "default": None}]}


class Orders:
    """The examples' topic, and runs of one of them that read what is there."""

    def __init__(self, spark: SparkSession, topic: Topic) -> None:
        self._spark = spark
        self._topic = topic
        self.registry = Registry(numbers=[1])

    def send(self, number: int, *ids: int, amount: float = 50.0, **more: Any) -> None:
        order = {
            "customer": "c1",
            "amount": amount,
            "country": "DE",
            "at": 1_767_312_000_000_000,
            "tags": ["a", "b"],
            **more,
        }
        self._topic.send(frame(number, {"id": id_, **order}) for id_ in ids)

    def run(self, example: str, secrets: Mapping[str, tuple[str, str]], **environment: str) -> RunReport:
        text = (EXAMPLES / example).read_text().replace("topic: orders\n", f"topic: {self._topic.name}\n")
        broker = self._topic.broker
        given = {"PENSTOCK_BROKERS": broker.bootstrap, "PENSTOCK_SECRET_ID": "broker", "PENSTOCK_BUCKET": "lk"}
        known = {"broker": (broker.username, broker.password), **secrets}
        options = RunOptions(registry=self.registry, once=True, fetch_secret=known.__getitem__)
        return run(parse_pipeline(text, environment={**given, **environment}), self._spark, options)


@pytest.fixture
def orders(spark_utc: SparkSession, spark_lake: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Orders:
    for entry in (spark_lake / "lk").iterdir():
        shutil.rmtree(entry)
    monkeypatch.setattr(stream, "DEFINITIONS", (ORDER, NOTED))
    return Orders(spark_utc, Topic(broker))


def test_postgresql(orders: Orders, postgresql_target: DatabaseTarget) -> None:
    def run() -> RunReport:
        host, name = postgresql_target.url.removeprefix("jdbc:postgresql://").split("/")
        where = {"SHOP_DATABASE_HOST": host, "SHOP_DATABASE": name, "SHOP_DATABASE_SECRET": "shop"}
        return orders.run("orders-to-postgresql.yaml", {"shop": postgresql_target.login}, **where)

    orders.send(1, 1, 2, 3)
    assert run().rows == 3
    orders.registry.numbers = [1, 2]
    orders.send(2, 2, 4, amount=75.0, note="again")
    run()
    assert postgresql_target.run("SELECT id, amount, note, tags FROM orders ORDER BY id") == [
        [1, 50.0, None, ["a", "b"]],
        [2, 75.0, "again", ["a", "b"]],
        [3, 50.0, None, ["a", "b"]],
        [4, 75.0, "again", ["a", "b"]],
    ]
    markers = postgresql_target.run("SELECT application, batch, row_count FROM penstock_batches ORDER BY batch")
    assert [tuple(row[1:]) for row in markers] == [(0, 3), (1, 2)]
    assert markers[0][0].startswith("penstock:orders_to_postgresql:sink:")


def test_dynamodb(orders: Orders, dynamodb: DynamoDBLocal, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**dynamodb.environment(), "AWS_REGION": dynamodb.region}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTING")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    names = (("customer", "S", "HASH"), ("id", "N", "RANGE"))
    dynamodb.client().create_table(
        TableName="example-orders",
        KeySchema=[{"AttributeName": name, "KeyType": role} for name, _, role in names],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind, _ in names],
        BillingMode="PAY_PER_REQUEST",
    )
    orders.send(1, 1, 2)
    assert orders.run("orders-to-dynamodb.yaml", {}, ORDERS_TABLE="example-orders").rows == 2
    first, second = sorted(
        dynamodb.client().scan(TableName="example-orders")["Items"], key=lambda item: str(item["id"]["N"])
    )
    assert first["customer"] == {"S": "c1"}
    assert first["at"] == {"S": "2026-01-02T00:00:00Z"}
    assert first["expires"] == {"N": "1767398400"}
    assert sorted(first["tags"]["SS"]) == ["a", "b"]
    assert second["id"] == {"N": "2"}


def test_kafka(
    orders: Orders, topic_target: TopicTarget, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    orders.send(1, 1, 2)
    orders.send(1, 3, amount=150.0)
    orders.run("orders-to-kafka.yaml", {}, LARGE_ORDERS_TOPIC=topic_target.name)
    (message,) = topic_target.messages()
    version = RegistryClient().latest("default-registry", "large_orders")
    assert message.value()[:18] == b"\x03\x00" + version.id.bytes
    record = fastavro.schemaless_reader(io.BytesIO(message.value()[18:]), json.loads(version.definition), None)
    assert record == {"id": 3, "customer": "c1", "amount": 150.0}
    assert message.key() == b"3"
    headers = dict(message.headers())
    assert headers["country"] == b"DE"
    assert headers["penstock-batch"].startswith(b"penstock:orders_to_kafka:sink:")
