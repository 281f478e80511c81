"""A Python consumer of a topic with AWS's community serde, as users write it: poll, deserialise, write Parquet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from aws_schema_registry import SchemaRegistryClient
from aws_schema_registry.serde import KafkaDeserializer
from confluent_kafka import Consumer

__all__ = ["consume"]

_CHUNK = 50_000


def consume(broker: Mapping[str, Any], topic: str, glue: Any, records: int, folder: Path) -> None:
    """Read ``records`` records of ``topic`` from its start into Parquet files in ``folder``. ``glue``: boto3's client."""
    deserializer = KafkaDeserializer(SchemaRegistryClient(glue, registry_name="bench"))
    consumer = Consumer({**broker, "group.id": uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    rows: list[Any] = []
    left, number = records, 0
    try:
        while left > 0:
            for message in consumer.consume(5_000, 1.0):
                value = message.value()
                if message.error() is None and value is not None:
                    rows.append(deserializer.deserialize(topic, value).data)
                    left -= 1
            if len(rows) >= _CHUNK or left <= 0:
                pq.write_table(pa.Table.from_pylist(rows), folder / f"consumer-{number}.parquet")
                rows, number = [], number + 1
    finally:
        consumer.close()
