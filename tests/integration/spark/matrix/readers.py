"""The rows of each kind of sink, as someone else's client reads them."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pg8000.native
import pyarrow.dataset as ds
from boto3.dynamodb.types import TypeDeserializer
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.catalog.glue import GlueCatalog

from penstock.local.broker import Broker

__all__ = ["Row", "delta_rows", "dynamodb_rows", "iceberg_rows", "jdbc_rows", "kafka_rows", "kinesis_rows"]

Row = dict[str, Any]


def delta_rows(folder: Path) -> list[Row]:
    """Return the rows of the files that the table's log adds: nothing is removed here."""
    lines = [line for entry in sorted((folder / "_delta_log").glob("*.json")) for line in entry.read_text().splitlines()]
    actions = [json.loads(line) for line in lines]
    assert not [action for action in actions if "remove" in action]
    files = [str(folder / action["add"]["path"]) for action in actions if "add" in action]
    return list(ds.dataset(files, format="parquet").to_table().to_pylist())


def iceberg_rows(aws: Mapping[str, str], s3_endpoint: str, table: str) -> list[Row]:
    """Read by pyiceberg: Glue's catalog and S3."""
    keys = {"access-key-id": aws["AWS_ACCESS_KEY_ID"], "secret-access-key": aws["AWS_SECRET_ACCESS_KEY"]}
    settings = {"glue.endpoint": aws["AWS_ENDPOINT_URL"], "s3.endpoint": s3_endpoint}
    for service in ("glue", "s3"):
        settings |= {f"{service}.{name}": value for name, value in {**keys, "region": aws["AWS_REGION"]}.items()}
    return list(GlueCatalog("glue", **settings).load_table(table).scan().to_arrow().to_pylist())


def jdbc_rows(store_url: str, table: str) -> list[Row]:
    """Read by pg8000; ``jsonb`` comes as objects."""
    url = urlsplit(store_url)
    where: dict[str, Any] = {
        "host": url.hostname,
        "port": url.port,
        "database": url.path.strip("/"),
        "password": url.password,
    }
    connection = pg8000.native.Connection(str(url.username), **where)
    try:
        result = connection.run(f'SELECT id, day, note, place FROM "{table}"')
        return [dict(zip(("id", "day", "note", "place"), row, strict=True)) for row in result or ()]
    finally:
        connection.close()


def dynamodb_rows(client: Any, table: str) -> list[Row]:
    """Read by boto3, less the item's own mark of its batch; an attribute that is not there is a null."""
    read: Callable[[Any], Any] = TypeDeserializer().deserialize
    items = [item for page in client.get_paginator("scan").paginate(TableName=table) for item in page["Items"]]
    results = [{"note": None, **{name: _plain(read(value)) for name, value in item.items()}} for item in items]
    assert all(item.pop("penstock_batch") for item in results)
    return results


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, Decimal) else value


def kafka_rows(broker: Broker, topic: str) -> list[Row]:
    """Read the topic's one partition with confluent-kafka."""
    consumer = Consumer({**broker.client_settings, "group.id": "matrix", "enable.auto.commit": False})
    try:
        place = TopicPartition(topic, 0, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        results: list[Row] = []
        while consumer.position([place])[0].offset < end:
            for message in consumer.consume(1_000, timeout=1):
                assert message.error() is None, message.error()
                results.append(json.loads(message.value() or b""))
        return results
    finally:
        consumer.close()


def kinesis_rows(client: Any, stream: str) -> list[Row]:
    """Read the stream's one shard with boto3."""
    shard = client.list_shards(StreamName=stream)["Shards"][0]["ShardId"]
    where = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator, found = client.get_shard_iterator(**where)["ShardIterator"], list[Row]()
    while True:
        answer = client.get_records(ShardIterator=iterator)
        found.extend(json.loads(record["Data"]) for record in answer["Records"])
        if answer["MillisBehindLatest"] == 0:
            return found
        iterator = answer["NextShardIterator"]
