"""Serialise and deserialise a record in each format, against the bare libraries, AWS's community serde and confluent-kafka.

The same records on all sides, each side's schema registered and cached before, no network. AWS's community serde is
``aws-glue-schema-registry``. Where a side checks nothing that ours checks, it is so much ahead.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
import jsonschema_rs
from aws_schema_registry import DataAndSchema, SchemaVersion
from aws_schema_registry.avro import AvroSchema as CommunityAvro
from aws_schema_registry.jsonschema import JsonSchema as CommunityJson
from aws_schema_registry.serde import KafkaDeserializer, KafkaSerializer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from benchmarks.sizes import size
from benchmarks.timing import Row, in_turn
from penstock.demo.flights import SECOND_SCHEMA, load_flights
from penstock.schema.version import SchemaText
from penstock.schema.version import SchemaVersion as OurVersion
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from penstock.serdes.protobuf.decoder import ProtobufSchema

__all__ = ["run"]

_RECORDS = size(None, 2_000, 20)
_BARE = 0.85  # of a bare library's rate: within 15 %
_COMMUNITY = 3.0
_AHEAD = 1.0
_ID = UUID(int=7)
_CONTEXT = SerializationContext("flights", MessageField.VALUE)
_JSON_TYPES = {"string": "string", "int": "integer", "long": "integer", "double": "number", "float": "number"}
_PROTO_TYPES = {"string": "string", "int": "int32", "long": "int64", "double": "double", "float": "float"}

Work = Callable[[], object]


class _Source:
    """A registry with one version, so that the network is not measured."""

    def __init__(self, definition: str, data_format: str) -> None:
        self._version = OurVersion(
            id=_ID,
            schema_arn="",
            registry_name="r",
            schema_name="s",
            number=1,
            definition=definition,
            data_format=data_format,
        )

    def version(self, _version_id: UUID) -> OurVersion:
        return self._version

    def latest(self, _registry: str, _schema: str) -> OurVersion:
        return self._version


class _CommunityClient:
    """The methods of a client that the community's serde calls."""

    def __init__(self, definition: str, data_format: Any) -> None:
        self._version = SchemaVersion("s", _ID, definition, data_format, "AVAILABLE", 1)

    def get_or_register_schema_version(self, **_: Any) -> SchemaVersion:
        return self._version

    def get_schema_version(self, _version_id: UUID) -> SchemaVersion:
        return self._version


def run() -> list[Row]:
    """Return one row for each format, direction and peer."""
    records = load_flights(_RECORDS).to_pylist()
    plain = [{name: _plain(value) for name, value in record.items()} for record in records]
    return [*_avro(records), *_json(plain), *_protobuf(plain)]


def _plain(value: Any) -> Any:
    return int(value.timestamp() * 1000) if isinstance(value, datetime) else value


def _pair(definition: str, data_format: str) -> tuple[GlueSerializer, GlueDeserializer]:
    source: Any = _Source(definition, data_format)
    return GlueSerializer({"dataFormat": data_format}, version_id=_ID, source=source), GlueDeserializer(source=source)


def _avro(records: list[Any]) -> list[Row]:
    parsed = fastavro.parse_schema(json.loads(SECOND_SCHEMA))
    write, read = _pair(SECOND_SCHEMA, "AVRO")
    client = _confluent()
    their_write = AvroSerializer(client, SECOND_SCHEMA)
    their_read = AvroDeserializer(client)
    community = _community(SECOND_SCHEMA, "AVRO", CommunityAvro(SECOND_SCHEMA))

    def bare_write() -> list[bytes]:
        payloads = []
        for record in records:
            out = BytesIO()
            fastavro.schemaless_writer(out, parsed, record)
            payloads.append(out.getvalue())
        return payloads

    payloads = bare_write()
    messages = [write(record) for record in records]
    theirs = [their_write(record, _CONTEXT) for record in records]
    writers: dict[str, Work] = {
        "ours": lambda: [write(record) for record in records],
        "bare fastavro": bare_write,
        "AWS's community serde": lambda: [community[0](record) for record in records],
        "confluent-kafka": lambda: [their_write(record, _CONTEXT) for record in records],
    }
    readers: dict[str, Work] = {
        "ours": lambda: [read(message) for message in messages],
        "bare fastavro": lambda: [fastavro.schemaless_reader(BytesIO(payload), parsed, None) for payload in payloads],
        "AWS's community serde": lambda: [community[1](message) for message in messages],
        "confluent-kafka": lambda: [their_read(message, _CONTEXT) for message in theirs],
    }
    return _rows("AVRO", writers, readers, {"bare fastavro": _BARE})


def _json(records: list[Any]) -> list[Row]:
    definition = json.dumps(_json_schema())
    write, read = _pair(definition, "JSON")
    client = _confluent()
    their_write = JSONSerializer(definition, client)
    their_read = JSONDeserializer(definition, schema_registry_client=client)
    community = _community(definition, "JSON", CommunityJson(definition))
    validator = jsonschema_rs.validator_for(json.loads(definition))
    messages = [write(record) or b"" for record in records]
    theirs = [their_write(record, _CONTEXT) for record in records]

    def bare_write(record: Any) -> bytes:
        validator.validate(record)
        return json.dumps(record).encode()

    def bare_read(payload: bytes) -> Any:
        value = json.loads(payload)
        validator.validate(value)
        return value

    writers: dict[str, Work] = {
        "ours": lambda: [write(record) for record in records],
        "bare jsonschema-rs and json": lambda: [bare_write(record) for record in records],
        "AWS's community serde": lambda: [community[0](record) for record in records],
        "confluent-kafka": lambda: [their_write(record, _CONTEXT) for record in records],
    }
    readers: dict[str, Work] = {
        "ours": lambda: [read(message) for message in messages],
        "bare jsonschema-rs and json": lambda: [bare_read(message[18:]) for message in messages],
        "AWS's community serde": lambda: [community[1](message) for message in messages],
        "confluent-kafka": lambda: [their_read(message, _CONTEXT) for message in theirs],
    }
    return _rows("JSON", writers, readers, {"bare jsonschema-rs and json": _BARE})


def _protobuf(records: list[Any]) -> list[Row]:
    definition = _proto()
    kind = ProtobufSchema(SchemaText(definition=definition, data_format="PROTOBUF")).message("bench.Flight")
    values = [kind(**record) for record in records]
    write, _ = _pair(definition, "PROTOBUF")
    source: Any = _Source(definition, "PROTOBUF")
    read = GlueDeserializer({"protobufMessageType": "POJO"}, message_class=kind, source=source)
    client = _confluent()
    conf = {"use.deprecated.format": False}
    their_write = ProtobufSerializer(kind, client, conf=conf)
    their_read = ProtobufDeserializer(kind, conf, client)
    payloads = [value.SerializeToString() for value in values]
    messages = [write(value) for value in values]
    theirs = [their_write(value, _CONTEXT) for value in values]
    writers: dict[str, Work] = {
        "ours": lambda: [write(value) for value in values],
        "bare upb": lambda: [value.SerializeToString() for value in values],
        "confluent-kafka": lambda: [their_write(value, _CONTEXT) for value in values],
    }
    readers: dict[str, Work] = {
        "ours": lambda: [read(message) for message in messages],
        "bare upb": lambda: [kind.FromString(payload) for payload in payloads],
        "confluent-kafka": lambda: [their_read(message, _CONTEXT) for message in theirs],
    }
    return _rows("PROTOBUF", writers, readers, {})


def _rows(data_format: str, writers: dict[str, Work], readers: dict[str, Work], aims: dict[str, float]) -> list[Row]:
    aims = {"AWS's community serde": _COMMUNITY, "confluent-kafka": _AHEAD, **aims}
    rows = []
    for what, works in (("serialise", writers), ("deserialise", readers)):
        seconds = in_turn(works, 40, clock=time.process_time).seconds
        for peer in list(works)[1:]:
            ratio = seconds[peer] / seconds["ours"]
            aim = aims.get(peer)
            ours, theirs = (f"{_RECORDS / seconds[side]:,.0f}/s" for side in ("ours", peer))
            expected = f"{aim:g} or more" if aim is not None else "none: for comparison"
            rows.append(
                Row(f"{what} {data_format}, against {peer}", ours, theirs, ratio, expected, aim is None or ratio >= aim)
            )
    return rows


def _community(definition: str, data_format: str, schema: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    client: Any = _CommunityClient(definition, data_format)
    writer, reader = KafkaSerializer(client), KafkaDeserializer(client)
    return (
        lambda record: writer.serialize("flights", DataAndSchema(record, schema)),
        lambda message: reader.deserialize("flights", message),
    )


def _confluent() -> SchemaRegistryClient:
    return SchemaRegistryClient.new_client({"url": "mock://bench"})


def _fields() -> list[tuple[str, str, bool]]:
    """Return name, Avro type and whether it may be null, for each field."""
    fields = []
    for part in json.loads(SECOND_SCHEMA)["fields"]:
        kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
        plain = next(kind for kind in kinds if kind != "null")
        fields.append((part["name"], plain if isinstance(plain, str) else plain["type"], "null" in kinds))
    return fields


def _json_schema() -> Any:
    types = {name: [_JSON_TYPES[kind], *(["null"] if null else [])] for name, kind, null in _fields()}
    required = [name for name, _, null in _fields() if not null]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Flight",
        "type": "object",
        "properties": {name: {"type": kinds} for name, kinds in types.items()},
        "required": required,
        "additionalProperties": False,
    }


def _proto() -> str:
    fields = " ".join(
        f"optional {_PROTO_TYPES[kind]} {name} = {number};" for number, (name, kind, _) in enumerate(_fields(), 1)
    )
    return f'syntax = "proto3"; package bench; message Flight {{ {fields} }}'
