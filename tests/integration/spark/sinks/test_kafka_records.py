"""The Kafka sink beyond the suite of all sinks: keys, headers, order, registered schemas and their frames, refusals."""

import io
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import boto3
import fastavro
import pytest
from pyspark.sql import SparkSession

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.errors import DataProblem, InvalidInput
from penstock.pipelines.decode import ConfluentRegistry
from penstock.pipelines.sinks.encoding import Encoding
from penstock.schema.version import SchemaText
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.spark.sinks.values import ValueSchemas
from penstock.testing.server import RunningServer
from tests.integration.spark.sinks.targets import QUERY, batch, numbered
from tests.integration.spark.sinks.topics import TopicTarget

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_records_have_key_value_and_headers_and_keep_their_order(spark_utc: SparkSession, topic_target: TopicTarget) -> None:
    rows = [(number % 5, f"n{number}", 0, number) for number in range(100)]
    topic_target.writer(headers=("name",)).publish(batch(spark_utc, rows, 3))
    messages = topic_target.messages()
    assert {message.partition() for message in messages} == {0, 1}
    assert {message.value() for message in messages} == {
        json.dumps({"id": n}, separators=(",", ":")).encode() for n in range(5)
    }
    marker = f"penstock:shop:sink:{QUERY}:3".encode()
    by_key: dict[bytes, list[str]] = {}
    for message in messages:
        headers = dict(message.headers())
        assert headers["penstock-batch"] == marker
        assert headers["penstock-source"] == b"0/" + headers["name"][1:]
        by_key.setdefault(message.key(), []).append(headers["name"].decode())
    assert by_key == {str(key).encode(): [f"n{number}" for number in range(key, 100, 5)] for key in range(5)}


def test_several_keys_and_none(spark_utc: SparkSession, topic_target: TopicTarget) -> None:
    topic_target.writer(key=("id", "name")).publish(batch(spark_utc, numbered(0, 1)))
    topic_target.writer(key=()).publish(batch(spark_utc, numbered(1, 1), 1))
    assert sorted(str(message.key()) for message in topic_target.messages()) == ["None", 'b\'{"id":0,"name":"n0"}\'']
    with pytest.raises(InvalidInput, match="there is no column 'other'"):
        topic_target.writer(key=("other",)).publish(batch(spark_utc, numbered(0, 1)))


def glue(server: RunningServer) -> RegistryClient:
    session = boto3.session.Session(
        aws_access_key_id=server.access_key_id, aws_secret_access_key=server.secret_access_key, region_name=server.region
    )
    return RegistryClient(endpoint_url=server.endpoint_url, session=session)


def read(definition: str, message: Any, head: bytes) -> Any:
    """The record in a message, by fastavro, after checking the bytes in front."""
    assert message.value()[: len(head)] == head
    payload = io.BytesIO(message.value()[len(head) :])
    record = fastavro.schemaless_reader(payload, json.loads(definition), None)
    assert payload.read() == b""
    return record


def test_derived_schemas_are_registered_and_evolve(
    spark_utc: SparkSession, topic_target: TopicTarget, penstock_server: RunningServer
) -> None:
    client = glue(penstock_server)
    penstock_server.client("glue").create_registry(RegistryName="sinks")
    schemas = ValueSchemas(Encoding(format="avro", registry="sinks", schema="out", register=True), registry=lambda: client)
    value = Encoding(format="avro", registry="sinks", schema="out", register=True)
    writer = topic_target.writer(schemas=schemas, value=value)
    writer.publish(batch(spark_utc, [(1, None, 0, 0)]))
    more = "id bigint, name string, price decimal(10,2), at timestamp, tags array<string>, _partition int, _offset bigint"
    writer.publish(batch(spark_utc, [(2, "b", None, None, ["x", None], 0, 1)], 1, more))
    first, second = client.versions("sinks", "out")
    by_id = {message.value()[2:18]: message for message in topic_target.messages()}
    assert read(first.definition, by_id[first.id.bytes], b"\x03\x00" + first.id.bytes) == {"id": 1, "name": None}
    result = read(second.definition, by_id[second.id.bytes], b"\x03\x00" + second.id.bytes)
    assert result == {"id": 2, "name": "b", "price": None, "at": None, "tags": ["x", None]}
    with pytest.raises(DataProblem, match="do not fit schema sinks/out"):
        writer.publish(batch(spark_utc, [("text", 0, 0)], 2, "id string, _partition int, _offset bigint"))


def test_registered_schemas_with_confluents_frame(
    spark_utc: SparkSession, topic_target: TopicTarget, penstock_server: RunningServer
) -> None:
    definition = json.dumps(
        {"type": "record", "name": "Out", "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}
    )
    login = f"{penstock_server.access_key_id}:{penstock_server.secret_access_key}"
    schema_id, _ = ConfluentClient(penstock_server.endpoint_url, user_info=login).register("out-value", definition)
    declared = ConfluentRegistry(url=penstock_server.endpoint_url, user_info=login, subject="out-value")
    writer = topic_target.writer(value=Encoding(format="avro", confluent=declared))
    writer.check()
    writer.publish(batch(spark_utc, numbered(0, 3)))
    head = b"\x00" + schema_id.to_bytes(4, "big")
    records = [read(definition, message, head) for message in topic_target.messages()]
    assert sorted(record["id"] for record in records) == [0, 1, 2]
    with pytest.raises(DataProblem, match=r"gets a null where the schema has none.*coalesce"):
        writer.publish(batch(spark_utc, [(1, None, 0, 0)], 1))
    with pytest.raises(InvalidInput, match="a schema that does not fit the columns"):
        writer.publish(
            batch(spark_utc, [(1, "a", 5, 0, 0)], 2, "id bigint, name string, n int, _partition int, _offset bigint")
        )
    with pytest.raises(InvalidInput, match=r"is AVRO, and value.format is json"):
        topic_target.writer(value=Encoding(format="json", confluent=declared)).check()


def test_json_values_with_a_registered_schema(
    spark_utc: SparkSession, topic_target: TopicTarget, penstock_server: RunningServer
) -> None:
    client = glue(penstock_server)
    definition = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    version_id, _ = client.create_schema("default-registry", "jout", definition, data_format="JSON")
    value = Encoding(format="json", registry="default-registry", schema="jout", version=1)
    topic_target.writer(value=value, schemas=ValueSchemas(value, registry=lambda: client)).publish(
        batch(spark_utc, numbered(0, 1))
    )
    (message,) = topic_target.messages()
    assert message.value() == b"\x03\x00" + UUID(str(version_id)).bytes + b'{"id":0,"name":"n0"}'


PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Other { string x = 1; }
message Out {
  enum Kind { NONE = 0; LARGE = 1; }
  message Line { int32 n = 1; bytes raw = 2; }
  int64 id = 1;
  optional string name = 2;
  google.protobuf.Timestamp at = 3;
  repeated Line lines = 4;
  map<string, double> rates = 5;
  Kind kind = 6;
}
"""


@pytest.mark.parametrize("frame", ["glue", "confluent"])
def test_protobuf_values_are_read_by_our_own_deserialiser(
    spark_utc: SparkSession, topic_target: TopicTarget, penstock_server: RunningServer, frame: str
) -> None:
    client = glue(penstock_server)
    login = f"{penstock_server.access_key_id}:{penstock_server.secret_access_key}"
    subjects = ConfluentClient(penstock_server.endpoint_url, user_info=login)
    if frame == "glue":
        version_id, _ = client.create_schema("default-registry", "pout", PROTO, data_format="PROTOBUF")
        value = Encoding(format="protobuf", registry="default-registry", schema="pout", message="shop.Out")
        head = b"\x03\x00" + version_id.bytes
    else:
        schema_id, _ = subjects.register("pout-value", PROTO, "PROTOBUF")
        declared = ConfluentRegistry(url=penstock_server.endpoint_url, user_info=login, subject="pout-value")
        value = Encoding(format="protobuf", confluent=declared, message="shop.Out")
        head = b"\x00" + schema_id.to_bytes(4, "big")
    writer = topic_target.writer("cdc", value=value, schemas=ValueSchemas(value, registry=lambda: client))
    columns = (
        "id bigint, name string, at timestamp, lines array<struct<n:int,raw:binary>>, rates map<string,double>, "
        "kind string, op string, _partition int, _offset bigint"
    )
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    full = (1, None, at, [(7, bytearray(b"\x00\xff"))], {"eur": 1.5}, "LARGE", "c", 0, 0)
    writer.publish(batch(spark_utc, [full, (2, "", None, None, None, None, "d", 0, 1)], columns=columns))
    by_key = {message.key(): message.value() for message in topic_target.messages()}
    assert by_key[b"2"] is None
    schema = ProtobufSchema(SchemaText(definition=PROTO, data_format="PROTOBUF"))
    index = schema.confluent_index("shop.Out") if frame == "confluent" else schema.index("shop.Out")
    assert by_key[b"1"].startswith(head + index)
    message: Any = schema.message("shop.Out").FromString(by_key[b"1"][len(head + index) :])
    assert (message.id, message.HasField("name"), message.at.ToDatetime(UTC)) == (1, False, at)
    assert [(line.n, line.raw) for line in message.lines] == [(7, b"\x00\xff")]
    assert (dict(message.rates), message.kind) == ({"eur": 1.5}, 1)
    with pytest.raises(DataProblem, match=r'does not fit its message.*"surplus"'):
        writer.publish(
            batch(spark_utc, [(1, 2, "c", 0, 0)], 1, "id bigint, surplus int, op string, _partition int, _offset bigint")
        )


def test_a_record_that_is_too_large_is_said(spark_utc: SparkSession, topic_target: TopicTarget) -> None:
    with pytest.raises(DataProblem, match=r"refuses a record that is too large.*max.message.bytes"):
        topic_target.writer(compression="none").publish(batch(spark_utc, [(1, "x" * 2_000_000, 0, 0)]))
