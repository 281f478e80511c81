"""Shapes of JSON Schemas agree with their table columns, and the expressions find documents that lose something."""

import json
import re
from typing import Any

import pytest

from penstock.errors import DataProblem
from penstock.schema.formats.jsonschema import JsonSchemaFormat
from penstock.spark.decode.formats.json import JsonPayloads, document_shape
from penstock.spark.decode.formats.json_checks import exact, suspect
from penstock.spark.decode.formats.port import FormatSettings
from penstock.types.hive import render


def schema(properties: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, **more})


TEXT, NUMBER = {"type": "string"}, {"type": "number"}

SCHEMAS = [
    schema({"a": TEXT, "b": {"type": "integer"}, "c": NUMBER, "d": {"type": "boolean"}}),
    schema({"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "null"}, NUMBER]}, "c": {}}),
    schema({"a": {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}}}),
    schema({"a": {"type": "object", "additionalProperties": {"type": "array", "items": NUMBER}}}),
    schema({"a": {"type": ["string", "integer"]}, "b": {"type": "object"}, "c": {"enum": ["x", "y"]}, "d": {"const": 5}}),
    schema({"a": {"type": "array", "prefixItems": [TEXT]}, "b": {"$ref": "#/definitions/d"}}, definitions={"d": TEXT}),
    schema({"a": {"allOf": [{"properties": {"x": TEXT}}, {"properties": {"y": NUMBER}}], "type": "object"}}),
    schema({"a": {"patternProperties": {"^x": NUMBER}, "type": "object"}, "b": {"type": "null"}}),
]


@pytest.mark.parametrize("definition", SCHEMAS)
def test_a_shape_has_the_types_of_the_table(definition: str) -> None:
    columns = JsonSchemaFormat().columns(JsonSchemaFormat().parse(definition))
    shape = document_shape(definition)
    assert {item.name: render(item.shape.type) for item in shape.members} == {column.name: column.type for column in columns}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ('{"a":"x","n":1}', False),
        ('{"a" : \n "x"}', False),
        ('{"a":null}', False),
        ('{"a":5}', True),
        ('{"a": {"b":1}}', True),
        ('{"a":true}', True),
        ('{"n":1,"a":[]}', True),
        ('{"b":"\\"a\\":5"}', True),  # a backslash is always looked at
    ],
)
def test_a_string_that_is_none_makes_a_document_suspect(document: str, found: bool) -> None:
    expression = suspect(document_shape(schema({"a": TEXT, "b": TEXT, "n": NUMBER})))
    assert expression
    assert bool(re.search(expression, document)) is found


@pytest.mark.parametrize(("document", "found"), [('{"n":1}', False), ('{"n":1,"m":1}', True), ('{"nn":1}', True)])
def test_an_unlisted_property_makes_a_document_of_a_closed_schema_suspect(document: str, found: bool) -> None:
    expression = suspect(document_shape(schema({"n": NUMBER}, additionalProperties=False)))
    assert expression
    assert bool(re.search(expression, document)) is found


def test_nothing_is_suspect_where_spark_checks_all() -> None:
    assert suspect(document_shape(schema({"n": NUMBER, "b": {"type": "boolean"}}))) is None


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "array", "items": TEXT}},
        {"a": TEXT, "b": {"type": "object", "properties": {"a": NUMBER}}},
        {"a": {"type": "object", "additionalProperties": TEXT}},
    ],
)
def test_every_document_is_suspect_where_the_text_does_not_tell(properties: dict[str, Any]) -> None:
    assert suspect(document_shape(schema(properties))) == ""


@pytest.mark.parametrize(
    ("variant", "fits"),
    [
        ("OBJECT<a: STRING, n: BIGINT>", True),
        ("OBJECT<>", True),
        ("OBJECT<a: VOID>", True),
        ("OBJECT<a: BIGINT>", False),
        ("OBJECT<a: STRING, z: BIGINT>", False),
        ("OBJECT<l: ARRAY<STRING>>", True),
        ("OBJECT<l: ARRAY<VARIANT>>", False),
        ("OBJECT<o: OBJECT<any: ARRAY<OBJECT<`a>b`: BIGINT>>, t: STRING>>", True),
        ("OBJECT<o: OBJECT<t: BIGINT>>", False),
        ("OBJECT<`x y`: STRING>", True),
        ("OBJECT<m: OBJECT<`k 1`: STRING, k2: VOID>>", True),
        ("OBJECT<m: OBJECT<k: BIGINT>>", False),
        ("OBJECT<n: DECIMAL(3,1)>", True),
        ("ARRAY<VOID>", False),
    ],
)
def test_the_schema_of_a_variant_is_compared_with_the_shape(variant: str, fits: bool) -> None:
    properties = {
        "a": TEXT,
        "n": NUMBER,
        "l": {"type": "array", "items": TEXT},
        "o": {"type": "object", "properties": {"t": TEXT}},
        "m": {"type": "object", "additionalProperties": TEXT},
        "x y": TEXT,
    }
    expression = exact(document_shape(schema(properties, additionalProperties=False)))
    assert bool(re.search(expression, variant)) is fits


def test_a_map_of_very_many_keys_is_matched_without_recursion() -> None:
    shape = document_shape(schema({"m": {"type": "object", "additionalProperties": TEXT}}))
    variant = f"OBJECT<m: OBJECT<{', '.join(f'k{number}: STRING' for number in range(50_000))}>>"
    assert re.search(exact(shape), variant)


def test_fields_that_the_reader_lacks_are_named() -> None:
    inner = {"type": "array", "items": {"type": "object", "properties": {"x": TEXT, "y": TEXT}}}
    less = {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}}
    payloads = JsonPayloads(FormatSettings())
    assert payloads.missing_fields(schema({"a": TEXT, "b": inner}), schema({"b": less})) == ["a", "b[].y"]


def test_a_schema_that_is_not_of_an_object_is_refused() -> None:
    with pytest.raises(DataProblem, match="cannot be used for decoding"):
        document_shape('{"type":"array","items":{"type":"string"}}')
