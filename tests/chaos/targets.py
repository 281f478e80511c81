"""The sinks under faults: the section of each in the YAML, and its rows as someone else's client reads them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pg8000.native
import pyarrow as pa
import pyarrow.dataset as ds
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.catalog.glue import GlueCatalog

from penstock.client.kinesis import ShardFetcher, ShardPosition, StreamName
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.kinesis import KinesisStandIn
from tests.chaos.records import Expected
from tests.integration.spark.stream import Topic

__all__ = [
    "DeltaTarget",
    "DynamoDbTarget",
    "IcebergTarget",
    "JdbcTarget",
    "KafkaTarget",
    "KinesisTarget",
    "ParquetTarget",
    "Target",
]

_COLUMNS = ["id", "day", "seats", "p", "o"]


def _of_table(table: pa.Table) -> list[Expected]:
    columns = (table.column(name).to_pylist() for name in _COLUMNS)
    return sorted((Expected(*row) for row in zip(*columns, strict=True)), key=lambda row: row.id)


def _of_objects(found: Iterable[Mapping[str, Any]]) -> list[Expected]:
    def number(value: Any) -> int | None:
        return None if value is None else int(value)

    rows = (Expected(int(r["id"]), str(r["day"]), number(r.get("seats")), int(r["p"]), int(r["o"])) for r in found)
    return sorted(rows, key=lambda row: row.id)


class Target(ABC):
    """One sink. ``exact``: each row once; else at least once."""

    name: str
    exact = True

    @abstractmethod
    def section(self) -> str:
        """Return the sink's YAML, in one line."""

    @abstractmethod
    def rows(self) -> list[Expected]:
        """Return the rows, by id."""


class ParquetTarget(Target):
    """Files in the lake, read by pyarrow."""

    def __init__(self, lake: Path, name: str = "parquet") -> None:
        self.name = name
        self._folder = lake / "chaos" / name

    def section(self) -> str:
        return f"{{parquet: {{location: s3://chaos/{self.name}, partition_by: [day]}}}}"

    def rows(self) -> list[Expected]:
        return _of_table(ds.dataset(self._folder, partitioning="hive").to_table(columns=_COLUMNS))


class JdbcTarget(Target):
    """A table of PostgreSQL, read by pg8000."""

    name = "jdbc"

    def __init__(self, store_url: str) -> None:
        self._url = urlsplit(store_url)

    def section(self) -> str:
        where = f"jdbc:postgresql://{self._url.hostname}:{self._url.port}{self._url.path}"
        login = f'username: {self._url.username}, password: "{self._url.password}"'
        return f'{{jdbc: {{url: "{where}", table: flights, {login}}}}}'

    def rows(self) -> list[Expected]:
        results = self._run("SELECT id, day, seats, p, o FROM flights ORDER BY id")
        return [Expected(*row) for row in results]

    def _run(self, sql: str) -> list[list[Any]]:
        connection = pg8000.native.Connection(
            str(self._url.username),
            host=str(self._url.hostname),
            port=self._url.port or 5432,
            database=self._url.path.strip("/"),
            password=self._url.password,
        )
        try:
            return list(connection.run(sql) or ())
        finally:
            connection.close()


class DeltaTarget(Target):
    """A Delta table: the files that its log adds and does not remove, read by pyarrow."""

    name = "delta"

    def __init__(self, lake: Path) -> None:
        self._folder = lake / "chaos" / "delta"

    def section(self) -> str:
        return "{delta: {location: s3://chaos/delta}}"

    def rows(self) -> list[Expected]:
        files: set[str] = set()
        for entry in sorted((self._folder / "_delta_log").glob("*.json")):
            for line in entry.read_text().splitlines():
                action = json.loads(line)
                if "add" in action:
                    files.add(action["add"]["path"])
                elif "remove" in action:
                    files.discard(action["remove"]["path"])
        return _of_table(
            ds.dataset([str(self._folder / path) for path in files], format="parquet").to_table(columns=_COLUMNS)
        )


class IcebergTarget(Target):
    """A table of Iceberg in the server's Glue catalog, read by pyiceberg through the S3 endpoint."""

    name = "iceberg"

    def __init__(self, environment: Mapping[str, str], s3_endpoint: str) -> None:
        self._environment = environment
        self._s3_endpoint = s3_endpoint

    def section(self) -> str:
        return "{iceberg: {table: chaos.flights, warehouse: s3://chaos/iceberg}}"

    def rows(self) -> list[Expected]:
        aws = self._environment
        keys = {"access-key-id": aws["AWS_ACCESS_KEY_ID"], "secret-access-key": aws["AWS_SECRET_ACCESS_KEY"]}
        settings = {"glue.endpoint": aws["AWS_ENDPOINT_URL"], "s3.endpoint": self._s3_endpoint}
        for service in ("glue", "s3"):
            settings |= {f"{service}.{name}": value for name, value in {**keys, "region": aws["AWS_REGION"]}.items()}
        return _of_table(GlueCatalog("glue", **settings).load_table("chaos.flights").scan().to_arrow())


class DynamoDbTarget(Target):
    """A table of DynamoDB Local, one item a row."""

    name = "dynamodb"

    def __init__(self, dynamodb: DynamoDBLocal, table: str) -> None:
        self._client = dynamodb.client()
        self._table = table
        self._client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        )

    def section(self) -> str:
        return f"{{dynamodb: {{table: {self._table}, mode: upsert, keys: [id]}}}}"

    def rows(self) -> list[Expected]:
        results: list[dict[str, Any]] = []
        for page in self._client.get_paginator("scan").paginate(TableName=self._table):
            for item in page["Items"]:
                results.append(
                    {name: None if "NULL" in value else next(iter(value.values())) for name, value in item.items()}
                )
        return _of_objects(results)


class KafkaTarget(Target):
    """Another topic, with values of JSON."""

    name = "kafka"
    exact = False

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def section(self) -> str:
        broker = self._topic.broker
        login = f"security_protocol: SASL_PLAINTEXT, username: {broker.username}, password: {broker.password}"
        return f"{{kafka: {{brokers: '{broker.bootstrap}', {login}, topic: {self._topic.name}, key: [id]}}}}"

    def rows(self) -> list[Expected]:
        consumer = Consumer({**self._topic.broker.client_settings, "group.id": "chaos", "enable.auto.commit": False})
        try:
            results: list[dict[str, Any]] = []
            for partition in range(2):
                place = TopicPartition(self._topic.name, partition, 0)
                _, end = consumer.get_watermark_offsets(place, timeout=30)
                consumer.assign([place])
                offset = 0
                while offset < end:
                    for message in consumer.consume(5_000, timeout=5):
                        assert message.error() is None, message.error()
                        results.append(json.loads(message.value() or b""))
                        offset = (message.offset() or 0) + 1
            return _of_objects(results)
        finally:
            consumer.close()


class KinesisTarget(Target):
    """A stream of Kinesis, with values of JSON."""

    name = "kinesis"
    exact = False

    def __init__(self, kinesis: KinesisStandIn, stream: str) -> None:
        self._client = kinesis.client()
        self._stream = stream
        kinesis.create_stream(stream, shards=2)

    def section(self) -> str:
        return f"{{kinesis: {{stream: {self._stream}, partition_key: day}}}}"

    def rows(self) -> list[Expected]:
        results: list[dict[str, Any]] = []
        for shard in self._client.list_shards(StreamName=self._stream)["Shards"]:
            fetcher = ShardFetcher(self._client, StreamName(self._stream), shard["ShardId"], ShardPosition())
            while True:
                results.extend(json.loads(record["Data"]) for record in fetcher.fetch(10_000))
                if fetcher.ended or fetcher.behind_ms == 0:
                    break
        return _of_objects(results)
