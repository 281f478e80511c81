"""The records of a cell of the matrix in each format, and how each source gets them."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import ParseDict

from penstock.local.broker import Broker
from penstock.schema.version import SchemaText
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.testing.kinesis_server import KinesisServer
from penstock.testing.server import RunningServer
from tests.integration.spark.stream import Topic

__all__ = ["COUNT", "DAMAGED", "FORMATS", "ROWS", "SOURCES", "Encoded", "source_of"]

COUNT = 24
DAMAGED = b"damaged"
SOURCES = ("kafka", "kinesis", "files")
ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "day": f"2013-01-0{1 + number % 3}",
        "note": None if number % 4 == 0 else f"n{number} Zoë",
        "place": {"x": 2**40 + number, "tags": [f"t{number}", "b"][: number % 3]},
    }
    for number in range(COUNT)
]
_PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "x", "type": "long"}, {"name": "tags", "type": {"type": "array", "items": "string"}}],
}
_AVRO = {
    "type": "record",
    "name": "Visit",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "day", "type": "string"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "place", "type": _PLACE},
    ],
}
_JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "day": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "place": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["x", "tags"],
        },
    },
    "required": ["id", "day", "place"],
}
_PROTOBUF = """
syntax = "proto3";
package shop;
message Visit {
  int64 id = 1;
  string day = 2;
  optional string note = 3;
  Place place = 4;
  message Place { int64 x = 1; repeated string tags = 2; }
}
"""

Encoded = tuple[dict[str, Any], list[bytes]]
"""The pipeline's ``decode`` section, and the values."""


def _registered(server: RunningServer, name: str, data_format: str, definition: str) -> tuple[dict[str, Any], bytes]:
    """Register a schema in the default registry; return the ``decode`` section and Glue's frame."""
    made = server.client("glue").create_schema(
        RegistryId={"RegistryName": "default-registry"},
        SchemaName=name,
        DataFormat=data_format,
        Compatibility="NONE",
        SchemaDefinition=definition,
    )
    frame = b"\x03\x00" + UUID(made["SchemaVersionId"]).bytes
    return {"registry": "default-registry", "schema": name}, frame


def _avro(server: RunningServer, name: str) -> Encoded:
    decode, frame = _registered(server, name, "AVRO", json.dumps(_AVRO))
    schema, values = fastavro.parse_schema(dict(_AVRO)), []
    for row in ROWS:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, schema, row)
        values.append(frame + body.getvalue())
    return decode, values


def _json(server: RunningServer, name: str) -> Encoded:
    decode, frame = _registered(server, name, "JSON", json.dumps(_JSON))
    return decode, [frame + json.dumps(row).encode() for row in ROWS]


def _protobuf(server: RunningServer, name: str) -> Encoded:
    decode, frame = _registered(server, name, "PROTOBUF", _PROTOBUF)
    schema = ProtobufSchema(SchemaText(definition=_PROTOBUF, data_format="PROTOBUF"))
    message, head = schema.message("shop.Visit"), frame + schema.index("shop.Visit")
    return decode, [head + ParseDict(row, message()).SerializeToString() for row in ROWS]


def _confluent(server: RunningServer, name: str) -> Encoded:
    login = f"{server.access_key_id}:{server.secret_access_key}"
    write = AvroSerializer(
        SchemaRegistryClient({"url": server.endpoint_url, "basic.auth.user.info": login}), json.dumps(_AVRO)
    )
    context = SerializationContext(name, MessageField.VALUE)
    values = [write(row, context) for row in ROWS]
    decode = {"confluent": {"url": server.endpoint_url, "user_info": login, "subject": f"{name}-value"}}
    return decode, [value for value in values if value is not None]


def _plain(server: RunningServer, name: str) -> Encoded:
    return {"frames": "none", "format": "json"}, [json.dumps(row).encode() for row in ROWS]


FORMATS: Mapping[str, Callable[[RunningServer, str], Encoded]] = {
    "avro": _avro,
    "json": _json,
    "protobuf": _protobuf,
    "confluent-avro": _confluent,
    "plain-json": _plain,
}


def source_of(
    kind: str, name: str, values: Sequence[bytes], *, broker: Broker, kinesis: KinesisServer, lake: Path
) -> dict[str, Any]:
    """Put ``values`` where a source of this kind reads them; return the ``source`` section."""
    if kind == "kafka":
        topic = Topic(broker, 1)
        topic.send(values)
        login = {"security_protocol": "SASL_PLAINTEXT", "username": broker.username, "password": broker.password}
        return {"kafka": {"brokers": broker.bootstrap, "topic": topic.name, **login}}
    if kind == "kinesis":
        kinesis.create_stream(f"from-{name}", shards=1)
        entries = [{"Data": value, "PartitionKey": "k"} for value in values]
        assert kinesis.client().put_records(StreamName=f"from-{name}", Records=entries)["FailedRecordCount"] == 0
        return {"kinesis": {"stream": f"from-{name}", "endpoint": kinesis.endpoint_url, "describeShardInterval": "0s"}}
    folder = lake / "lk" / name / "arrived"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"value": pa.array(values, pa.binary())}), folder / "one.parquet")
    return {"files": {"location": f"s3://lk/{name}/arrived"}}
