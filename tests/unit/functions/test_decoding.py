"""Records decoded by a schema registry, in the form that AWS's own consumer library reads them."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from aws_lambda_powertools.utilities.kafka import SchemaConfig, kafka_consumer
from aws_lambda_powertools.utilities.typing import LambdaContext

from penstock.errors import EnvironmentProblem, NotFound
from penstock.functions.kafka.decoding import Decoder, Undecodable, json_value
from penstock.functions.kafka.event import KafkaOrigin, kafka_record
from penstock.functions.model import SchemaRegistry
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes import confluent_frame as confluent
from penstock.serdes import frame
from penstock.serdes.avro.codec import AvroSchema, encoder

ARN = "arn:aws:glue:us-east-1:123456789012:registry/r"
ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")
SCHEMA = json.dumps(
    {"type": "record", "name": "M", "fields": [{"name": "t", "type": "int"}, {"name": "s", "type": "string"}]}
)
VALUE = {"t": 30, "s": "a"}
PAYLOAD = encoder(AvroSchema(SCHEMA))(VALUE)


class Source:
    """Knows one version, as both registries; or does not answer."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away

    def version(self, version_id: UUID) -> SchemaVersion:
        self._reached(version_id == ID)
        return SchemaVersion(
            id=ID,
            schema_arn=ARN.replace("registry/r", "schema/r/m"),
            registry_name="r",
            schema_name="m",
            number=1,
            definition=SCHEMA,
            data_format="AVRO",
            status="AVAILABLE",
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        return self.version(ID)

    def text(self, schema_id: int | UUID) -> SchemaText:
        self._reached(schema_id == 7)
        return SchemaText(definition=SCHEMA, data_format="AVRO")

    def _reached(self, known: bool) -> None:
        if self.away:
            raise EnvironmentProblem("nobody answers")
        if not known:
            raise NotFound("no such schema")


def decoder(form: Any = "JSON", uri: str = ARN, **source: Any) -> Decoder:
    config = SchemaRegistry(uri=uri, format=form, attributes=frozenset({"VALUE"}))
    return Decoder(config, source=Source(**source), confluent_source=Source(**source))


@pytest.mark.parametrize("compression", list(frame.Compression))
def test_glues_frames_as_json_and_as_source(compression: frame.Compression) -> None:
    message = frame.encode(ID, PAYLOAD, compression)
    shown = decoder().decode(message, [], "VALUE")
    assert json.loads(shown.data) == shown.view == VALUE
    assert shown.schema.entry == {"dataFormat": "JSON", "schemaId": str(ID)}
    source = decoder("SOURCE").decode(message, [], "VALUE")
    assert source.data == PAYLOAD
    assert source.schema.entry == {"dataFormat": "AVRO", "schemaId": str(ID)}


def test_confluents_frames_by_prefix_and_by_header() -> None:
    url = "http://registry.example:8081"
    for message, headers in (
        (confluent.prefix(7) + PAYLOAD, []),
        (PAYLOAD, [(confluent.VALUE_HEADER, confluent.prefix(7)), ("nothing", None)]),
    ):
        decoded = decoder("SOURCE", url).decode(message, headers, "VALUE")
        assert (decoded.data, decoded.view) == (PAYLOAD, VALUE)
        assert decoded.schema.entry == {"dataFormat": "AVRO", "schemaId": "7"}


@pytest.mark.parametrize(
    ("message", "uri", "condition"),
    [
        (frame.encode(UUID(int=5), PAYLOAD), ARN, "SCHEMA_NOT_FOUND"),
        (frame.encode(ID, PAYLOAD[:1]), ARN, "DESERIALIZATION_ERROR"),
        (b"plain text", ARN, "DESERIALIZATION_ERROR"),
        (b"", ARN, "DESERIALIZATION_ERROR"),
        (confluent.prefix(8) + PAYLOAD, "http://registry.example", "SCHEMA_NOT_FOUND"),
        (frame.encode(ID, PAYLOAD), "http://registry.example", "SCHEMA_NOT_FOUND"),
    ],
)
def test_an_undecodable_record_has_lambdas_reason(message: bytes, uri: str, condition: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decoder(uri=uri).decode(message, [], "VALUE")
    assert caught.value.condition == condition


def test_a_registry_that_is_away_is_no_fault_of_the_record() -> None:
    with pytest.raises(EnvironmentProblem):
        decoder(away=True).decode(frame.encode(ID, PAYLOAD), [], "VALUE")


@pytest.mark.parametrize(("form", "schema"), [("JSON", SchemaConfig("JSON")), ("SOURCE", SchemaConfig("AVRO", SCHEMA))])
def test_powertools_consumer_reads_both_forms(form: str, schema: SchemaConfig) -> None:
    decoded = decoder(form).decode(frame.encode(ID, PAYLOAD, frame.Compression.ZLIB), [], "VALUE")
    record = kafka_record(
        topic="t",
        partition=0,
        offset=1,
        timestamp_ms=1,
        timestamp_type="CREATE_TIME",
        key=None,
        value=decoded.data,
        value_schema=decoded.schema,
        value_view=decoded.view,
    )

    @kafka_consumer(schema_config=schema)
    def handler(event: Any, context: Any) -> list[Any]:
        return [item.value for item in event.records]

    assert handler(json.loads(KafkaOrigin(bootstrap_servers="b:9092").event([record])), LambdaContext()) == [VALUE]


def test_half_characters_are_delivered_as_json_writes_them() -> None:
    class Loose(Source):
        def version(self, version_id: UUID) -> SchemaVersion:
            return replace(super().version(version_id), definition="{}", data_format="JSON")

    config = SchemaRegistry(uri=ARN, format="JSON", attributes=frozenset({"VALUE"}))
    decoded = Decoder(config, source=Loose()).decode(frame.encode(ID, b'{"s":"\\ud800"}'), [], "VALUE")
    assert decoded.data == b'{"s":"\\ud800"}'


def test_values_outside_json_are_text() -> None:
    moment = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
    value = {
        "d": date(2026, 1, 31),
        "m": moment,
        "n": Decimal("1.50"),
        "b": b"\xff",
        "l": [UUID(int=1), float("nan"), 1.5, None],
    }
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == {
        "d": "2026-01-31",
        "m": "2026-01-31T12:00:00+00:00",
        "n": "1.50",
        "b": "/w==",
        "l": ["00000000-0000-0000-0000-000000000001", "nan", 1.5, None],
    }
