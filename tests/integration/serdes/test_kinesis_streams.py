"""Serialised records through a stream, plain and aggregated, with the real registry."""

import uuid

import pytest

from penstock.client.registry import RegistryClient
from penstock.serdes.kinesis.aggregate import Aggregator
from penstock.serdes.kinesis.serdes import KinesisDeserializer, KinesisSerializer, aggregated, open_shards, put_all
from penstock.testing.kinesis import KinesisStandIn

DEFINITIONS = {
    "AVRO": '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}',
    "JSON": '{"type":"object","properties":{"id":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3"; message Order { int32 id = 1; }',
}


@pytest.mark.parametrize("data_format", ["AVRO", "JSON", "PROTOBUF"])
def test_a_stream_of_plain_and_aggregated_records(source: RegistryClient, kinesis: KinesisStandIn, data_format: str) -> None:
    stream = f"orders-{uuid.uuid4().hex[:8]}"
    shards = kinesis.create_stream(stream, shards=3)
    client = kinesis.client()
    properties = {"dataFormat": data_format, "compression": "ZLIB", "schemaAutoRegistrationEnabled": "true"}
    write = KinesisSerializer(properties, schema=DEFINITIONS[data_format], source=source)
    keys = [f"customer-{number}" for number in range(10)]
    client.put_record(StreamName=stream, **write.record(stream, {"id": 1}, keys[0]))
    put_all(client, stream, (write.record(stream, {"id": number}, keys[number % 10]) for number in range(2, 150)))
    users = (write.user_record(stream, {"id": number}, keys[number % 10]) for number in range(150, 450))
    ranges = open_shards(client, stream)
    assert len(ranges) == len(shards)
    together = list(aggregated(users, Aggregator(limit=10_000, shards=ranges)))
    assert put_all(client, stream, together) == len(together) < 20
    kinesis_values = list(KinesisDeserializer(source=source).records(kinesis.records(stream), stream=stream))
    assert sorted(item.value["id"] for item in kinesis_values) == list(range(1, 450))
    for key in keys:
        # In the order in which they were put: aggregated or not, a key has one shard.
        ids = [item.value["id"] for item in kinesis_values if item.partition_key == key]
        assert ids == sorted(ids)
    assert all(item.arrived is not None for item in kinesis_values)
