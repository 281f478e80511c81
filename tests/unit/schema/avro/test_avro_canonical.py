"""The canonical text: one for every spelling, another for every difference that a reader can notice."""

import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schema.formats import format_of
from tests.unit.schema.avro.avro_schemas import respelled, schemas

AVRO = format_of("AVRO")


def canonical(schema: Any) -> str:
    return canonical_text(json.dumps(schema))


def canonical_text(text: str) -> str:
    return AVRO.parse(text).canonical


# The sample of AWS's blog post, and the same schema as Avro's Java client writes it (name before namespace).
AS_REGISTERED = """{"namespace": "com.example", "type": "record", "name": "Payload",
  "fields": [{"name": "id", "type": "string"}, {"name": "at", "type": {"type": "long"}}]}"""
AS_JAVA_WRITES = (
    '{"type":"record","name":"Payload","namespace":"com.example","fields":'
    '[{"name":"id","type":"string"},{"name":"at","type":"long"}]}'
)

BASE: dict[str, Any] = {
    "type": "record",
    "name": "R",
    "namespace": "n",
    "fields": [
        {"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
        {"name": "b", "type": "double", "default": 1},
    ],
}


def changed(**more: Any) -> dict[str, Any]:
    return {**BASE, **more}


def with_field(**more: Any) -> dict[str, Any]:
    return changed(fields=[{**BASE["fields"][0], **more}, BASE["fields"][1]])


def test_java_and_registered_text_match() -> None:
    assert canonical_text(AS_REGISTERED) == canonical_text(AS_JAVA_WRITES)


@pytest.mark.parametrize(
    "same",
    [
        changed(name="n.R", namespace="ignored.by.the.dot"),
        {key: value for key, value in changed(name="n.R").items() if key != "namespace"},
        changed(aliases=[]),
        with_field(order="ascending"),
        with_field(type={"type": "enum", "name": "n.E", "symbols": ["A"]}),
        with_field(type={"type": "enum", "name": "E", "namespace": "n", "symbols": ["A"]}),
        changed(fields=[BASE["fields"][0], {"name": "b", "type": {"type": "double"}, "default": 1.0}]),
    ],
)
def test_spelling_does_not_count(same: dict[str, Any]) -> None:
    assert canonical(same) == canonical(BASE)


@pytest.mark.parametrize(
    "other",
    [
        changed(name="S"),
        changed(namespace="m"),
        changed(doc="d"),
        changed(aliases=["Q"]),
        changed(owner="me"),
        changed(type="error"),
        changed(fields=list(reversed(BASE["fields"]))),
        with_field(doc="d"),
        with_field(default="A"),
        with_field(order="ignore"),
        with_field(aliases=["z"]),
        with_field(pii=True),
        with_field(type={"type": "enum", "name": "E", "symbols": ["A", "B"]}),
        with_field(type={"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}),
        changed(fields=[BASE["fields"][0], {"name": "b", "type": "double", "default": 2}]),
        changed(fields=[BASE["fields"][0], {"name": "b", "type": "double"}]),
    ],
)
def test_meaning_counts(other: dict[str, Any]) -> None:
    assert canonical(other) != canonical(BASE)


def test_logical_types_count() -> None:
    date = {"type": "int", "logicalType": "date"}
    assert canonical(date) != canonical("int")


def test_a_name_without_namespace_inside_one_keeps_none() -> None:
    inner = {"type": "fixed", "name": "F", "namespace": "", "size": 1}
    text = canonical({"type": "record", "name": "n.R", "fields": [{"name": "f", "type": inner}, {"name": "g", "type": "F"}]})
    assert canonical_text(text) == text
    assert '"n.F"' not in text


@settings(max_examples=60, deadline=None)
@given(schema=schemas(), seed=st.integers())
def test_order_of_attributes_does_not_count_and_the_text_is_a_fixed_point(schema: Any, seed: int) -> None:
    text = canonical(schema)
    assert canonical(respelled(schema, seed)) == text
    assert canonical_text(text) == text


@settings(max_examples=60, deadline=None)
@given(schema=schemas())
def test_the_text_means_the_same_to_fastavro(schema: Any) -> None:
    forms = [fastavro.schema.to_parsing_canonical_form(item) for item in (schema, json.loads(canonical(schema)))]
    assert forms[0] == forms[1]
