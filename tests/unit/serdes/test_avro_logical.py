"""Invalid logical types carry data of the underlying type, as Java's do; valid ones, and all others, are never changed."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from penstock.serdes.avro.codec import AvroSchemas, decoder, encoder
from penstock.serdes.errors import IncompatibleValue


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 5},
        {"type": "bytes", "logicalType": "decimal"},
        {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 30},
    ],
)
def test_an_invalid_decimal_is_bytes(kind: dict[str, Any]) -> None:
    definition = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]})
    schema = AvroSchemas().parse(definition)
    assert decoder(schema)(encoder(schema)({"a": b"xy"})) == {"a": b"xy"}


DATE = {"type": "int", "logicalType": "date"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
TIME = {"type": "int", "logicalType": "time-millis"}
UUID_TEXT = {"type": "string", "logicalType": "uuid"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
INNER = {"type": "record", "name": "I", "fields": [{"name": "f", "type": "float"}, {"name": "next", "type": ["null", "I"]}]}


def record(kind: Any) -> str:
    # A second field of the kind, so that both ways of checking a record's fields are met.
    fields = [{"name": "a", "type": kind}, {"name": "b", "type": ["null", "string"], "default": None}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", "yes"),
        ("boolean", 1),
        ("float", 1e39),
        ("float", 2**200),
        (["null", "float"], 1e39),
        ({"type": "array", "items": "float"}, [0.0, 1e39]),
        ({"type": "map", "values": ["null", "float"]}, {"k": 1e39}),
        ({"type": "array", "items": "boolean"}, [True, None]),
        (["null", INNER], {"f": 0.5, "next": {"f": -1e39, "next": None}}),
        (DATE, 1.5),
        (DATE, 2**40),
        (TIME, 2**31),
        (MILLIS, 1.5),
        (MILLIS, 2**63),
        (UUID_TEXT, "no UUID"),
        (["null", UUID_TEXT], "no UUID"),
        (DECIMAL, Decimal("1e10")),
        (DECIMAL, Decimal("NaN")),
        (["null", DECIMAL], Decimal("123")),
    ],
)
def test_what_fastavro_would_change_is_refused(kind: Any, value: Any) -> None:
    encode = encoder(AvroSchemas().parse(record(kind)))
    with pytest.raises(IncompatibleValue, match=r"^R\.a") as caught:
        encode({"a": value})
    assert caught.value.path.startswith("R.a")
    if not isinstance(kind, list):
        with pytest.raises(IncompatibleValue):
            encoder(AvroSchemas().parse(json.dumps(kind)))(value)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("boolean", False, False),
        ("float", float("inf"), float("inf")),
        ("float", 5, 5.0),
        ({"type": "array", "items": "float"}, [0.5, -float("inf")], [0.5, -float("inf")]),
        (["null", INNER], {"f": 0.5, "next": None}, {"f": 0.5, "next": None}),
        (DATE, date(2026, 1, 2), date(2026, 1, 2)),
        (DATE, "2026-01-02", date(2026, 1, 2)),
        (DATE, 1, date(1970, 1, 2)),
        (TIME, time(1, 2), time(1, 2)),
        (MILLIS, datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
        (MILLIS, 86_400_000, datetime(1970, 1, 2, tzinfo=UTC)),
        (UUID_TEXT, UUID(int=1), UUID(int=1)),
        (UUID_TEXT, str(UUID(int=1)), UUID(int=1)),
        (["null", UUID_TEXT], None, None),
        (DECIMAL, Decimal("-99.99"), Decimal("-99.99")),
        (DECIMAL, Decimal("0E+9"), Decimal("0.00")),
        (DECIMAL, b"\x01", Decimal("0.01")),
    ],
)
def test_what_fits_is_written(kind: Any, value: Any, read: Any) -> None:
    schema = AvroSchemas().parse(record(kind))
    assert decoder(schema)(encoder(schema)({"a": value}))["a"] == read
