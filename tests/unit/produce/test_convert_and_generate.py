"""Cells and JSON values to a schema's types; random values that always fit."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

import fastavro
import pytest
from fastavro.validation import validate

from penstock.produce.convert import compile_fields
from penstock.produce.generate import generate
from penstock.serdes.avro.codec import AvroSchema, decoder, encoder


def schema(*types: Any) -> AvroSchema:
    fields = [{"name": f"f{index}", "type": kind} for index, kind in enumerate(types)]
    return AvroSchema(json.dumps({"type": "record", "name": "R", "fields": fields}))


def convert(kind: Any, value: Any, *, text: bool) -> Any:
    (field,) = compile_fields(schema(kind), text=text)
    return field.convert(value)


def logical(base: str, name: str, **extra: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **extra}


ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
LEG = {
    "type": "record",
    "name": "Leg",
    "fields": [{"name": "to", "type": "string"}, {"name": "next", "type": ["null", "Leg"]}],
}
DECIMAL = logical("bytes", "decimal", precision=6, scale=2)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "cell", "expected"),
    [
        ("int", "5", 5),
        ("long", "-9223372036854775808", -(2**63)),
        ("double", "1.5", 1.5),
        ("double", "1e3", 1000.0),
        ("boolean", "TRUE", True),
        ("boolean", "0", False),
        ("string", "", ""),
        ("string", "5", "5"),
        ("bytes", "é", b"\xe9"),
        (ENUM, "B", "B"),
        (["null", "int"], "", None),
        (["null", "int"], "7", 7),
        (["null", "int", "string"], "7", 7),
        (["null", "int", "string"], "x", "x"),
        (["null", "string"], "", None),
        (logical("int", "date"), "2026-01-02", date(2026, 1, 2)),
        (logical("int", "date"), "19000", 19000),
        (logical("long", "timestamp-millis"), "2026-01-01T12:00:00Z", NOON),
        (logical("long", "timestamp-millis"), "2026-01-01 12:00:00", NOON),
        (logical("long", "timestamp-micros"), "1767268800000000", 1767268800000000),
        (DECIMAL, "12.34", Decimal("12.34")),
        (logical("string", "uuid"), "12345678123456781234567812345678", UUID("12345678123456781234567812345678")),
        ({"type": "array", "items": "int"}, "[1, 2]", [1, 2]),
        ({"type": "map", "values": "long"}, '{"a": 1}', {"a": 1}),
        (LEG, '{"to": "x", "next": {"to": "y", "next": null}}', {"to": "x", "next": {"to": "y", "next": None}}),
    ],
)
def test_cells(kind: Any, cell: str, expected: Any) -> None:
    result = convert(kind, cell, text=True)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("kind", "cell", "says"),
    [
        ("int", "", "'' is not of type int"),
        ("int", "5.5", "'5.5' is not of type int"),
        ("int", "2147483648", "out of the range of int"),
        ("double", "x", "'x' is not a number"),
        ("boolean", "maybe", "'maybe' is not a boolean"),
        (ENUM, "C", "none of the symbols A, B"),
        (["int", "boolean"], "", "may not be null"),
        (["int", "boolean"], "x", "fits none of int, boolean"),
        (DECIMAL, "abc", "'abc' is not a decimal"),
        (logical("string", "uuid"), "x", "'x' is not a UUID"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc", "has 3 bytes, not 2"),
        ({"type": "array", "items": "int"}, '{"a": 1}', "is not an array"),
    ],
)
def test_cells_that_do_not_fit(kind: Any, cell: str, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        convert(kind, cell, text=True)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 5, 5),
        ("int", 5.0, 5),
        ("double", 5, 5.0),
        (["null", "int"], {"int": 5}, 5),
        (["null", LEG], {"Leg": {"to": "x", "next": None}}, {"to": "x", "next": None}),
        (["null", LEG], {"to": "x", "next": None}, {"to": "x", "next": None}),
        (logical("long", "timestamp-micros"), NOON, NOON),
        (DECIMAL, 12.5, Decimal("12.5")),
        ({"type": "map", "values": "int"}, [("a", 1)], {"a": 1}),
        ("bytes", b"ab", b"ab"),
    ],
)
def test_typed_values(kind: Any, value: Any, expected: Any) -> None:
    assert convert(kind, value, text=False) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", "5x"), ("int", True), ("int", 1.5), ("string", 5), ("boolean", 1), ("double", None), ("null", 1)],
)
def test_typed_values_that_do_not_fit(kind: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        convert(kind, value, text=False)


EVERYTHING: list[Any] = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    ENUM,
    {"type": "fixed", "name": "F", "size": 3},
    {"type": "array", "items": {"type": "map", "values": ["null", "F"]}},
    LEG,
    {"type": "record", "name": "Tree", "fields": [{"name": "kids", "type": {"type": "array", "items": "Tree"}}]},
    {"type": "record", "name": "Deep", "fields": [{"name": "or", "type": ["Deep", "int"]}]},
    logical("int", "date"),
    logical("int", "time-millis"),
    logical("long", "time-micros"),
    logical("long", "timestamp-millis"),
    logical("long", "timestamp-micros"),
    logical("long", "local-timestamp-millis"),
    DECIMAL,
    {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 3},
    logical("string", "uuid"),
    logical("string", "of my own"),
]


@pytest.mark.parametrize("kind", EVERYTHING, ids=lambda kind: json.dumps(kind)[:40])
def test_generated_values_fit_and_round_trip(kind: Any) -> None:
    # Named types must be defined before they are used.
    made = (
        schema({"type": "fixed", "name": "F", "size": 3}, kind)
        if "F" in json.dumps(kind) and kind != EVERYTHING[9]
        else (schema(kind))
    )
    for value in islice(generate(made, seed=7), 50):
        assert validate(value, made.parsed, raise_errors=False)
        written = encoder(made)(value)
        out = io.BytesIO()
        fastavro.schemaless_writer(out, made.parsed, value)
        assert written == out.getvalue()
        assert decoder(made)(written) == value


def test_a_seed_repeats() -> None:
    made = schema("string", "long")
    first, again, other = (list(islice(generate(made, seed=seed), 5)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_schema_that_grows_faster_than_it_ends_is_bounded() -> None:
    children = [{"name": f"c{index}", "type": ["null", "Node"]} for index in range(5)]
    made = schema({"type": "record", "name": "Node", "fields": children})

    def depth(value: Any) -> int:
        return 1 + max(map(depth, value.values())) if isinstance(value, dict) else 0

    assert max(depth(value) for value in islice(generate(made, seed=1), 20)) <= 6
