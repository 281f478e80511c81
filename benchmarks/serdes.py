"""Serialise and deserialise a record, against bare fastavro on the same schema and the same records."""

import json
from io import BytesIO
from uuid import UUID

import fastavro

from benchmarks.timing import Row, in_turn
from penstock.demo.flights import SECOND_SCHEMA, load_flights
from penstock.schema.version import SchemaVersion
from penstock.serdes.kafka import GlueAvroDeserializer, GlueAvroSerializer

__all__ = ["run"]

_RECORDS = 10_000
_AIM = 0.85  # of bare fastavro's rate: within 15 %


class _Source:
    """A registry of one version, so that the network is not measured."""

    def __init__(self, version: SchemaVersion) -> None:
        self._version = version

    def version(self, _version_id: UUID) -> SchemaVersion:
        return self._version

    def latest(self, _registry: str, _schema: str) -> SchemaVersion:
        return self._version


def run() -> list[Row]:
    """Two rows: to bytes and back."""
    parsed = fastavro.parse_schema(json.loads(SECOND_SCHEMA))
    records = load_flights(_RECORDS).to_pylist()
    version = SchemaVersion(
        id=UUID(int=7),
        schema_arn="",
        registry_name="r",
        schema_name="s",
        number=1,
        definition=SECOND_SCHEMA,
        data_format="AVRO",
    )
    serialize = GlueAvroSerializer(source=_Source(version), schema_name="s")
    deserialize = GlueAvroDeserializer(source=_Source(version))

    def bare_write() -> list[bytes]:
        payloads = []
        for record in records:
            out = BytesIO()
            fastavro.schemaless_writer(out, parsed, record)
            payloads.append(out.getvalue())
        return payloads

    payloads = bare_write()
    messages = [serialize(record) for record in records]
    write = in_turn({"ours": lambda: [serialize(record) for record in records], "bare": bare_write}).seconds
    read = in_turn(
        {
            "ours": lambda: [deserialize(message) for message in messages],
            "bare": lambda: [fastavro.schemaless_reader(BytesIO(payload), parsed, None) for payload in payloads],
        }
    ).seconds
    return [_row("serialise a record", write), _row("deserialise a record", read)]


def _row(what: str, seconds: dict[str, float]) -> Row:
    ratio = seconds["bare"] / seconds["ours"]
    rates = {name: f"{_RECORDS / spent:,.0f}/s" for name, spent in seconds.items()}
    return Row(f"{what}, against bare fastavro", rates["ours"], rates["bare"], ratio, f"{_AIM} or more", ratio >= _AIM)
