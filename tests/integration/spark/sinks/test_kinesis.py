"""Rows in a stream of Kinesis: throttled in part, framed by a schema, aggregated, and what is not a record."""

import json
from collections import Counter
from typing import Any, Literal, cast
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DataProblem, InvalidInput
from penstock.pipelines.sinks.encoding import Encoding
from penstock.schema.version import SchemaVersion
from penstock.serdes.kinesis.aggregate import is_aggregate, user_records
from penstock.serdes.kinesis.serdes import KinesisDeserializer
from penstock.spark.sinks.port import SinkWriter
from penstock.spark.sinks.values import ValueSchemas
from tests.integration.spark.sinks.streams import StreamTarget
from tests.integration.spark.sinks.targets import CHANGES, batch, numbered

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AVRO = {
    "type": "record",
    "name": "Item",
    "fields": [
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
        {"name": "id", "type": "long"},
    ],
}
JSON = {"type": "object", "properties": {"id": {"type": "integer", "maximum": 5}}, "required": ["id"]}


class Registry:
    """The latest version of a schema."""

    def __init__(self, definition: object, data_format: str) -> None:
        self.found = SchemaVersion(
            id=UUID(int=7),
            schema_arn="arn:aws:glue:us-east-1:000000000000:schema/shop/item",
            registry_name="shop",
            schema_name="item",
            number=3,
            definition=json.dumps(definition),
            data_format=data_format,
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        assert (registry, schema) == ("shop", "item")
        return self.found

    def version(self, version_id: UUID | str) -> SchemaVersion:
        assert UUID(str(version_id)) == self.found.id
        return self.found


def test_a_stream_that_throttles_gets_every_row(spark_utc: SparkSession, kinesis_target: StreamTarget) -> None:
    kinesis = kinesis_target.kinesis
    kinesis.fail("PutRecordsEntry", "ProvisionedThroughputExceededException", 700)
    kinesis.fail("PutRecords", "ProvisionedThroughputExceededException", 2)
    done = kinesis_target.writer().publish(batch(spark_utc, numbered(0, 1200)))
    assert done.rows == 1200
    assert kinesis_target.rows() == [(number, f"n{number}") for number in range(1200)], "each once, and none lost"
    assert {record["PartitionKey"] for record in kinesis_target.records()} == {f"n{number}" for number in range(1200)}


def test_values_of_a_registered_schema_are_read_by_another_implementation(
    spark_utc: SparkSession, kinesis_target: StreamTarget
) -> None:
    def writer(registry: Registry, format: Literal["avro", "json"]) -> SinkWriter:
        encoding = Encoding(format=format, registry="shop", schema="item")
        schemas = ValueSchemas(encoding, registry=cast("Any", lambda: registry))
        return kinesis_target.writer(schemas=schemas, value=encoding, partition_key="cast(id as string)")

    avro, json_schema = Registry(AVRO, "AVRO"), Registry(JSON, "JSON")
    writer(avro, "avro").publish(batch(spark_utc, [(1, "a", 0, 0), (2, None, 0, 1)]))
    kinesis_values = list(KinesisDeserializer(source=avro).records(kinesis_target.records()))
    assert {kinesis_value.partition_key: kinesis_value.value for kinesis_value in kinesis_values} == {
        "1": {"name": "a", "at": None, "id": 1},
        "2": {"name": None, "at": None, "id": 2},
    }
    unknown = batch(spark_utc, [(1, "a", "u", 0, 0)], columns=CHANGES)
    with pytest.raises(InvalidInput, match=r"does not fit the columns: Cannot find field 'op' in Avro schema\."):
        writer(avro, "avro").publish(unknown)
    with pytest.raises(DataProblem, match="gets a null where the schema has none"):
        writer(avro, "avro").publish(batch(spark_utc, [(None, "a", 0, 0)]))

    with pytest.raises(DataProblem, match="a row of batch 0 cannot be put into stream"):
        writer(json_schema, "json").publish(batch(spark_utc, [(9, "a", 0, 0)]))
    writer(json_schema, "json").publish(batch(spark_utc, [(5, "a", 0, 0)]))
    last = [record for record in kinesis_target.records() if record["PartitionKey"] == "5"]
    assert [record.value for record in KinesisDeserializer(source=json_schema).records(last)] == [{"id": 5, "name": "a"}]
    with pytest.raises(InvalidInput, match="schema shop/item is PROTOBUF"):
        writer(Registry("x", "PROTOBUF"), "avro").check()


def test_rows_share_aggregated_records(spark_utc: SparkSession, kinesis_target: StreamTarget) -> None:
    done = kinesis_target.writer(aggregate=True, partition_key=None).publish(batch(spark_utc, numbered(0, 1000)))
    assert done.rows == 1000
    records = kinesis_target.records()
    assert len(records) == 2, "one a shard"
    assert all(is_aggregate(record["Data"]) for record in records)
    values = [json.loads(part.data)["id"] for record in records for part in user_records(record)]
    assert Counter(values) == Counter(range(1000))


def test_what_is_not_a_record_is_named(spark_utc: SparkSession, kinesis_target: StreamTarget) -> None:
    with pytest.raises(DataProblem, match="must have 1 to 256 characters"):
        kinesis_target.writer().publish(batch(spark_utc, [(1, None, 0, 0)]))
    by_id = kinesis_target.writer(partition_key="cast(id as string)")
    with pytest.raises(DataProblem, match=r"has 1,\d+,\d+ bytes, more than a record"):
        by_id.publish(batch(spark_utc, [(1, "x" * 1_100_000, 0, 0)]))
    with pytest.raises(InvalidInput, match="its keys and values cannot be made"):
        kinesis_target.writer(partition_key="nobody").publish(batch(spark_utc, numbered(0, 1)))
    assert kinesis_target.rows() == []
