"""JSON written in AWS's frame: the payload's bytes, and what is refused and where."""

from typing import Any

import pytest

from penstock.serdes.errors import (
    IncompatibleValue,
    MissingField,
    SerdeError,
    UnknownField,
)
from penstock.serdes.kafka.serdes import GlueDeserializer
from tests.unit.serdes.fake_registry import FakeRegistry
from tests.unit.serdes.writers import VALUE, serializer

FLIGHT = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "delay": {"type": ["number", "null"]}, "legs": {"items": {"type": "string"}}},
    "required": ["id"],
    "additionalProperties": False,
}


# What Jackson 2.12 writes for the same values, on a JVM of version 17.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.10, "1.1"),
        (1e10, "1.0E10"),
        (0.00001, "1.0E-5"),
        (0.000999, "9.99E-4"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (-0.0, "-0.0"),
        (5e-324, "4.9E-324"),
        (1.5e300, "1.5E300"),
        (2**70, "1180591620717411303424"),
        ('a\x1f\x00\u2028é✈"\\u001f\x7f\\', '"a\\u001F\\u0000\u2028é✈\\"\\\\u001f\x7f\\\\"'),
        ({"b": [1e10, None, "1e10"], "a": 0.0001}, '{"b":[1.0E10,null,"1e10"],"a":1.0E-4}'),
        ([True, 0, "0.0001"], '[true,0,"0.0001"]'),
    ],
)
def test_json_is_what_jackson_writes(value: Any, text: str) -> None:
    registry = FakeRegistry()
    message = serializer(registry, "JSON", schema="true")(value, VALUE)
    assert message is not None
    assert message[18:].decode() == text
    assert GlueDeserializer(source=registry)(message, VALUE) == value


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        ({}, MissingField, "value.id"),
        ({"id": "x"}, IncompatibleValue, "value.id"),
        ({"id": 1, "legs": ["a", 3]}, IncompatibleValue, "value.legs[1]"),
        ({"id": 1, "gate": "B"}, UnknownField, "value.gate"),
        ({"id": 1, "delay": float("nan")}, IncompatibleValue, "value.delay"),
        ({"id": 1, 2: 3}, IncompatibleValue, "value"),
        ({"id": object()}, IncompatibleValue, "value.id"),
        ({"id": float("inf")}, IncompatibleValue, "value.id"),
    ],
)
def test_json_that_does_not_fit(value: Any, kind: type[SerdeError], path: str) -> None:
    registry = FakeRegistry()
    with pytest.raises(kind, match=r"\(schema r/flights, version [0-9a-f-]{36}; topic flights\)") as caught:
        serializer(registry, "JSON", schema=FLIGHT)(value, VALUE)
    assert (caught.value.path, caught.value.schema) == (path, "r/flights")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_json_has_not_are_not_written_as_null(number: float) -> None:
    with pytest.raises(IncompatibleValue, match="cannot be written as JSON"):
        serializer(FakeRegistry(), "JSON", schema="true")({"a": number}, VALUE)


def test_json_that_contains_itself() -> None:
    value: dict[str, Any] = {"id": 1}
    value["legs"] = [value]
    with pytest.raises(SerdeError, match="nests deeper"):
        serializer(FakeRegistry(), "JSON", schema="true")(value, VALUE)
