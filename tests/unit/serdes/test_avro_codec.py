"""Values to bytes and back; fastavro itself is the reference for the bytes."""

import contextlib
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.serdes.avro.codec import AvroSchema, AvroSchemas, decoder, encoder
from penstock.serdes.errors import (
    IncompatibleValue,
    MissingField,
    SerdeError,
    TrailingBytes,
    TruncatedPayload,
    UnknownField,
    UnreadableSchema,
)
from tests.unit.serdes.avro_strategies import schemas_and_values

FLIGHT = {
    "type": "record",
    "name": "Flight",
    "namespace": "nyc",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tail", "type": ["null", "string"], "default": None},
        {"name": "distance", "type": "int"},
        {
            "name": "legs",
            "default": [],
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Leg",
                    "fields": [
                        {"name": "origin", "type": "string"},
                        {"name": "gate", "type": {"type": "enum", "name": "Gate", "symbols": ["A", "B"]}},
                        {"name": "codes", "type": {"type": "map", "values": "int"}, "default": {}},
                    ],
                },
            },
        },
    ],
}
LEG = {"origin": "JFK", "gate": "A", "codes": {"x": 1}}
GOOD = {"id": 1, "tail": "N1", "distance": 10, "legs": [LEG]}


def schema(definition: Any) -> AvroSchema:
    return AvroSchema(json.dumps(definition))


def reference(definition: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(definition), value)
    return out.getvalue()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_schema_and_value_round_trips_with_fastavros_bytes(data: st.DataObject) -> None:
    definition, values = data.draw(schemas_and_values())
    value = data.draw(values)
    parsed = schema(definition)
    written = encoder(parsed)(value)
    assert written == reference(definition, value)
    assert decoder(parsed)(written) == value


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_no_prefix_of_a_value_passes_for_it(data: st.DataObject) -> None:
    definition, values = data.draw(schemas_and_values())
    parsed = schema(definition)
    written = encoder(parsed)(data.draw(values))
    for cut in range(len(written)):
        with pytest.raises(SerdeError):
            decoder(parsed)(written[:cut])
    with pytest.raises(TrailingBytes):
        decoder(parsed)(written + b"\0")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data(), st.binary(max_size=60))
def test_any_bytes_end_in_a_value_or_a_serde_error(data: st.DataObject, payload: bytes) -> None:
    definition, _ = data.draw(schemas_and_values())
    with contextlib.suppress(SerdeError):
        decoder(schema(definition))(payload)


def test_truncation_of_a_flight_at_every_byte_is_a_truncated_payload() -> None:
    parsed = schema(FLIGHT)
    written = encoder(parsed)(GOOD)
    for cut in range(len(written)):
        with pytest.raises(TruncatedPayload, match=f"Payload of {cut} bytes ends inside a value"):
            decoder(parsed)(written[:cut])


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("string", "abc"),
        ("long", 2**40),
        (["null", "int"], 5),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        ({"type": "array", "items": "int"}, [1, 2]),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
        ({"type": "map", "values": "double"}, {"a": 1.5}),
    ],
)
def test_tops_that_are_no_records(definition: Any, value: Any) -> None:
    parsed = schema(definition)
    assert decoder(parsed)(encoder(parsed)(value)) == value


@pytest.mark.parametrize(
    ("change", "kind", "path", "says"),
    [
        ({"id": ...}, MissingField, "Flight.id", "the schema requires long there"),
        ({"legs": [LEG, {"origin": "EWR"}]}, MissingField, "Flight.legs[1].gate", "has no default"),
        ({"id": "x"}, IncompatibleValue, "Flight.id", "is 'x' (str), expected long"),
        ({"id": None}, IncompatibleValue, "Flight.id", "is null, expected long"),
        ({"distance": 1.5}, IncompatibleValue, "Flight.distance", "is 1.5 (float), expected int"),
        ({"distance": 2**31}, IncompatibleValue, "Flight.distance", "expected int (-2147483648 to 2147483647)"),
        ({"id": 2**63}, IncompatibleValue, "Flight.id", "expected long"),
        ({"tail": 7}, IncompatibleValue, "Flight.tail", "is 7 (int), expected string"),
        ({"legs": [{**LEG, "gate": "C"}]}, IncompatibleValue, "Flight.legs[0].gate", "one of the symbols A, B"),
        ({"legs": [{**LEG, "codes": {"y": "z"}}]}, IncompatibleValue, "Flight.legs[0].codes['y']", "expected int"),
        ({"legs": [{**LEG, "codes": {"y": 0.5}}]}, IncompatibleValue, "Flight.legs[0].codes['y']", "expected int"),
        ({"legs": "abc"}, IncompatibleValue, "Flight.legs", "expected an array"),
        ({"gate": 1}, UnknownField, "Flight.gate", "would be lost"),
    ],
)
def test_a_value_that_does_not_fit_names_its_path(
    change: dict[str, Any], kind: type[IncompatibleValue], path: str, says: str
) -> None:
    record = {key: value for key, value in {**GOOD, **change}.items() if value is not ...}
    with pytest.raises(kind) as caught:
        encoder(schema(FLIGHT))(record)
    assert caught.value.path == path
    assert says in str(caught.value)


def test_a_top_that_is_no_mapping() -> None:
    with pytest.raises(IncompatibleValue, match=r"expected a record nyc\.Flight"):
        encoder(schema(FLIGHT))(5)


def test_unknown_fields_can_be_left_out_on_request() -> None:
    parsed = schema(FLIGHT)
    assert encoder(parsed, ignore_unknown=True)({**GOOD, "gate": 1}) == encoder(parsed)(GOOD)


def test_defaults_fill_fields_that_are_missing() -> None:
    parsed = schema(FLIGHT)
    assert decoder(parsed)(encoder(parsed)({"id": 1, "distance": 2})) == {"id": 1, "tail": None, "distance": 2, "legs": []}


def test_reader_schema_drops_and_fills_fields() -> None:
    reader = {
        "type": "record",
        "name": "Flight",
        "namespace": "nyc",
        "fields": [
            {"name": "id", "type": "double"},
            {"name": "seats", "type": "int", "default": 9},
        ],
    }
    assert decoder(schema(FLIGHT), schema(reader))(encoder(schema(FLIGHT))(GOOD)) == {"id": 1.0, "seats": 9}


def test_reader_schema_that_cannot_read_is_named_so() -> None:
    reader = {"type": "record", "name": "Flight", "namespace": "nyc", "fields": [{"name": "seats", "type": "int"}]}
    with pytest.raises(UnreadableSchema, match="reader's schema cannot read"):
        decoder(schema(FLIGHT), schema(reader))(encoder(schema(FLIGHT))(GOOD))


@pytest.mark.parametrize(
    "definition",
    [
        "",
        "{",
        "[" * 100_000,
        '{"type": "record"}',
        '"nothing"',
        '{"type": "array"}',
        "5",
        "null",
        '{"type":"enum","name":"E"}',
    ],
)
def test_what_is_no_schema(definition: str) -> None:
    with pytest.raises(UnreadableSchema):
        AvroSchema(definition)


def test_schema_nested_beyond_reason_is_refused() -> None:
    definition: Any = "int"
    for _ in range(400):
        definition = {"type": "array", "items": definition}
    with pytest.raises(UnreadableSchema, match="nests deeper"):
        schema(definition)


def test_a_schema_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    real = fastavro.parse_schema

    def parse(*args: Any) -> Any:
        parsed.append(args)
        return real(*args)

    monkeypatch.setattr(fastavro, "parse_schema", parse)
    schemas = AvroSchemas()
    assert schemas.parse('"int"') is schemas.parse('"int"')
    assert len(parsed) == 1
