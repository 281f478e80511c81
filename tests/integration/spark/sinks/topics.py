"""A topic of the session's broker as a target of the suite."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.local.broker import Broker
from penstock.pipelines.kafka import KafkaConnection
from penstock.pipelines.sinks.kafka import KafkaSink
from penstock.pipelines.sinks.settings import ChangeCapture, WriteMode
from penstock.spark.sinks.kafka.writer import KafkaWriter
from penstock.spark.sinks.port import SinkBatch, SinkWriter
from penstock.spark.sinks.values import ValueSchemas
from tests.integration.spark.sinks.targets import SinkTarget

__all__ = ["TopicTarget"]


class TopicTarget(SinkTarget):
    """A topic of its own with two partitions, keyed by ``id``."""

    exactly_once = False

    def __init__(self, broker: Broker, spark: SparkSession) -> None:
        self.name = f"out-{uuid4().hex[:8]}"
        self._broker = broker
        self._spark = spark
        self._compacted = False
        admin = AdminClient(broker.client_settings)
        admin.create_topics([NewTopic(self.name, 2, 1)])[self.name].result(30)

    def connection(self, **more: Any) -> KafkaConnection:
        results: dict[str, Any] = {
            "brokers": self._broker.bootstrap,
            "security_protocol": "SASL_PLAINTEXT",
            "username": self._broker.username,
            "password": self._broker.password,
        }
        return KafkaConnection(**{**results, **more})

    def writer(self, mode: WriteMode = "append", schemas: ValueSchemas | None = None, **more: Any) -> KafkaWriter:
        self._compacted = mode != "append"
        changes = ChangeCapture(envelope="column") if mode == "cdc" else None
        declared: dict[str, Any] = {"topic": self.name, "brokers": self.connection(), "key": ("id",), **more}
        keys = () if mode == "append" else ("id",)
        sink = KafkaSink(mode=mode, changes=changes, keys=keys, **declared)
        return KafkaWriter(sink, self._spark, _no_secret, schemas)

    def messages(self) -> list[Any]:
        """All records of the topic, a partition after the other."""
        consumer = Consumer(
            {**self._broker.client_settings, "group.id": "none", "enable.auto.commit": False, "log_level": 0}
        )
        try:
            results: list[Any] = []
            for partition in (0, 1):
                where = TopicPartition(self.name, partition, 0)
                _, end = consumer.get_watermark_offsets(where, timeout=30)
                consumer.assign([where])
                seen = 0
                while seen < end:
                    message = consumer.poll(30)
                    assert message is not None, "the broker has fewer records than offsets"
                    assert message.error() is None
                    results.append(message)
                    seen = int(message.offset() or 0) + 1
            return results
        finally:
            consumer.close()

    def rows(self) -> list[tuple[int, str | None]]:
        """Of modes with keys those that remain after compaction: the last value of each key, none for a tombstone."""
        if not self._compacted:
            values = [json.loads(message.value()) for message in self.messages()]
            return sorted((value["id"], value["name"]) for value in values)
        last = {message.key(): message.value() for message in self.messages()}
        values = [json.loads(value) for value in last.values() if value is not None]
        return sorted((value["id"], value["name"]) for value in values)

    def interrupted(self, writer: SinkWriter, batch: SinkBatch) -> None:
        """A task fails at the last row, when others were sent."""
        stop = F.when(F.col("id") == batch.count - 1, F.raise_error(F.lit("killed"))).otherwise(F.col("name"))
        writer.publish(replace(batch, rows=batch.rows.coalesce(1).withColumn("name", stop)))

    def unreachable(self) -> Sequence[tuple[SinkWriter, str]]:
        return [
            (self.writer(brokers=self.connection(password="wrong")), "refused the login.*Check the user name and password"),
            (self.writer(brokers=self.connection(brokers="127.0.0.1:1")), "No broker of topic .* can be reached"),
            (self.writer(topic="nowhere"), "topic nowhere on .* does not exist: .*Create it"),
        ]


def _no_secret(secret: str) -> tuple[str, str]:
    raise AssertionError(secret)
