"""Compatibility rules of JSON Schema one by one: what is refused under which name at which path, and what passes."""

import json

import pytest

from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from tests.unit.schema.jsonschema.json_cases import (
    INTEGER,
    JSON,
    NULL,
    NUMBER,
    REFUSED,
    STRING,
    closed,
    found,
    objects,
)

OLD_TUPLE = "http://json-schema.org/draft-07/schema#"


COMPATIBLE = {
    "the same": (objects({"a": STRING}), objects({"a": STRING})),
    "annotations": (
        {"type": "string", "title": "b", "description": "c", "examples": ["d"]},
        {"type": "string", "title": "a"},
    ),
    "anything to the empty schema": ({}, objects({"a": STRING}, required=["a"])),
    "anything to true": (True, STRING),
    "nothing to anything": (STRING, False),
    "a type widened": (objects({"a": NUMBER}), objects({"a": INTEGER})),
    "a type added": ({"type": ["string", "null"]}, STRING),
    "nullable by anyOf": ({"anyOf": [STRING, NULL]}, STRING),
    "anyOf for a list of types": ({"anyOf": [STRING, NULL]}, {"type": ["string", "null"]}),
    "a list of types for anyOf with a reference": (
        {"type": ["string", "null"]},
        {"anyOf": [{"$ref": "#/definitions/s"}, NULL], "definitions": {"s": STRING}},
    ),
    "a list of types for anyOf": ({"type": ["string", "null"]}, {"anyOf": [STRING, NULL]}),
    "optional property added to a closed object": (closed({"a": STRING, "b": STRING}), closed({"a": STRING})),
    "optional property added and opened": (objects({"a": STRING, "b": STRING}), closed({"a": STRING})),
    "property with any value added to an open object": (objects({"a": STRING, "b": {}}), objects({"a": STRING})),
    "property removed from an open object": (objects({"a": STRING}), objects({"a": STRING, "b": STRING})),
    "property false removed from a closed object": (closed({"a": STRING}), closed({"a": STRING, "b": False})),
    "property covered by additionalProperties added": (
        objects({"a": INTEGER, "b": STRING}, additionalProperties=STRING),
        objects({"a": INTEGER}, additionalProperties=STRING),
    ),
    "property covered by patternProperties added": (
        closed({"x1": NUMBER}, patternProperties={"^x": INTEGER, "^y": STRING}) | {"patternProperties": {"^x": NUMBER}},
        closed({}, patternProperties={"^x": INTEGER}),
    ),
    "property removed and covered": (objects({}, additionalProperties=STRING), closed({"a": STRING})),
    "required removed": (objects({"a": STRING}), objects({"a": STRING}, required=["a"])),
    "opened": (objects({"a": STRING}), closed({"a": STRING})),
    "enum extended": ({"enum": ["a", "b", "c"]}, {"enum": ["b", "a"]}),
    "enum removed": (STRING, {"enum": ["b", "a"]}),
    "const into enum": ({"enum": [1, 2]}, {"const": 1.0}),
    "enum of known booleans": ({"enum": [True, False, None]}, {"type": ["boolean", "null"]}),
    "enum within bounds": ({"type": "integer", "minimum": 1, "maximum": 3}, {"enum": [1, 2, 3]}),
    "enum that matches a pattern": ({"type": "string", "pattern": "^[ab]$"}, {"enum": ["a", "b"]}),
    "bounds loosened": (
        {"type": "number", "minimum": 0, "exclusiveMaximum": 11, "multipleOf": 2},
        {"type": "number", "minimum": 1, "maximum": 10, "multipleOf": 4},
    ),
    "exclusive bound of whole numbers": ({"type": "integer", "minimum": 6}, {"type": "integer", "exclusiveMinimum": 5}),
    "whole numbers for multiples of one": (INTEGER, {"type": "number", "multipleOf": 1}),
    "length loosened": ({"minLength": 1, "maxLength": 9}, {"type": "string", "minLength": 2, "maxLength": 8}),
    "items widened": ({"type": "array", "items": NUMBER}, {"type": "array", "items": INTEGER}),
    "item added behind a closed tuple": (
        {"items": [STRING, INTEGER], "additionalItems": False},
        {"items": [STRING], "additionalItems": False},
    ),
    "uniqueItems of one item": ({"uniqueItems": True}, {"type": "array", "maxItems": 1}),
    "allOf spelled out": ({"type": "string", "minLength": 1}, {"allOf": [STRING, {"minLength": 1}]}),
    "allOf put together": ({"allOf": [STRING, {"minLength": 1}]}, {"type": "string", "minLength": 2}),
    "anyOf extended": ({"anyOf": [STRING, INTEGER, NULL]}, {"anyOf": [INTEGER, STRING]}),
    "oneOf to anyOf": ({"anyOf": [STRING, INTEGER]}, {"oneOf": [INTEGER, STRING]}),
    "oneOf extended by another type": ({"oneOf": [STRING, INTEGER]}, {"oneOf": [STRING]}),
    "oneOf told apart by a constant": (
        {"oneOf": [closed({"k": {"const": name}}, required=["k"]) for name in "ab"]},
        {"oneOf": [closed({"k": {"const": "a"}}, required=["k"])]},
    ),
    "oneOf in another order": ({"oneOf": [INTEGER, NUMBER]}, {"oneOf": [NUMBER, INTEGER]}),
    "not loosened": ({"not": STRING}, {"not": {"type": ["string", "integer"]}}),
    "not of what never was": ({"not": STRING}, INTEGER),
    "dependency loosened": ({"dependencies": {"a": ["b"]}}, {"dependencies": {"a": ["b", "c"]}}),
    "dependency of what is required": ({"dependencies": {"a": ["b"]}}, objects({}, required=["b"])),
    "condition loosened": (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b", "c"]}},
    ),
    "condition that always held": ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, objects({}, required=["b"])),
    "reference spelled out": (
        objects({"a": STRING}),
        objects({"a": {"$ref": "#/definitions/s"}}, definitions={"s": STRING}),
    ),
    "definition renamed": (
        objects({"a": {"$ref": "#/definitions/t"}}, definitions={"t": STRING}),
        objects({"a": {"$ref": "#/definitions/s"}}, definitions={"s": STRING}),
    ),
    "recursion": (
        closed({"v": NUMBER, "next": {"$ref": "#"}}),
        closed({"v": INTEGER, "next": {"$ref": "#"}}),
    ),
    "an object no value of which exists": (STRING, objects({"a": False}, required=["a"])),
    "names limited less": ({"propertyNames": {"maxLength": 9}}, objects({}, propertyNames={"maxLength": 8})),
    "names of a closed object": ({"propertyNames": {"maxLength": 2}}, closed({"a": STRING, "bb": STRING})),
    "contains loosened": ({"contains": NUMBER}, {"type": "array", "contains": INTEGER}),
}


@pytest.mark.parametrize("name", COMPATIBLE)
def test_compatible(name: str) -> None:
    new, old = COMPATIBLE[name]
    assert found(new, old) == found(new, old, CONFLUENT_RULES) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    new, old, rule, path = REFUSED[name]
    assert found(new, old) == found(new, old, CONFLUENT_RULES) == [(rule, path)]


def test_a_finding_says_what_and_what_to_do() -> None:
    (item,) = JSON.readable(
        JSON.parse(json.dumps(objects({"a": {"type": "string", "maxLength": 5}}))),
        JSON.parse(json.dumps(objects({"a": {"type": "string", "maxLength": 9}}))),
        GLUE_RULES,
    )
    assert (item.path, item.rule) == ("/properties/a/maxLength", "MAX_LENGTH_DECREASED")
    assert (item.reader, item.writer) == ("maxLength 5", "maxLength 9")
    assert item.message == "the reader requires maxLength 5 and the writer has maxLength 9. Keep maxLength at least 9."


def test_all_findings_are_given_at_once() -> None:
    old = objects({"a": STRING, "b": {"type": "object", "properties": {"c": NUMBER}}})
    new = objects({"a": INTEGER, "b": {"type": "object", "properties": {"c": INTEGER}}, "d": STRING}, required=["a"])
    assert found(new, old) == [
        ("REQUIRED_ATTRIBUTE_ADDED", "/required/a"),
        ("TYPE_CHANGED", "/properties/a"),
        ("TYPE_NARROWED", "/properties/b/properties/c"),
        ("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "/properties/d"),
    ]
