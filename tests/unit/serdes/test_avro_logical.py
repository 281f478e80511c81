"""Definitions whose logical types are invalid carry data of the underlying type, as Java's do."""

import json
from typing import Any

import pytest

from penstock.serdes.avro import AvroSchemas, decoder, encoder


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
