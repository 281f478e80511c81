"""Compatibility rules of JSON Schema one by one: what is refused under which name at which path, and what passes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES, CompatibilityRules, JsonRules

JSON = format_of("JSON")
STRING, INTEGER, NUMBER, NULL = ({"type": kind} for kind in ("string", "integer", "number", "null"))
OLD_TUPLE = "http://json-schema.org/draft-07/schema#"
NEW_TUPLE = "https://json-schema.org/draft/2020-12/schema"


def objects(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties or {}, **more}


def closed(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return objects(properties, additionalProperties=False, **more)


def found(new: Any, old: Any, rules: CompatibilityRules = GLUE_RULES) -> list[tuple[str, str]]:
    """Rule and path of each reason why ``new`` cannot read data of ``old``."""
    reader, writer = JSON.parse(json.dumps(new)), JSON.parse(json.dumps(old))
    return [(item.rule, item.path) for item in JSON.readable(reader, writer, rules)]


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


REFUSED = {
    "type changed": (objects({"a": STRING}), objects({"a": INTEGER}), "TYPE_CHANGED", "/properties/a"),
    "type narrowed": (objects({"a": INTEGER}), objects({"a": NUMBER}), "TYPE_NARROWED", "/properties/a"),
    "null taken out": (STRING, {"type": ["string", "null"]}, "TYPE_NARROWED", "/"),
    "null taken out of anyOf": (STRING, {"anyOf": [STRING, NULL]}, "TYPE_NARROWED", "/"),
    "from the empty schema": (STRING, {}, "TYPE_CHANGED", "/"),
    "to false": (objects({"a": False}), objects({"a": STRING}), "TYPE_CHANGED", "/properties/a"),
    "optional property added to an open object": (
        objects({"a": STRING, "b/~": STRING}),
        objects({"a": STRING}),
        "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "/properties/b~1~0",
    ),
    "property not covered added": (
        objects({"b": INTEGER}, additionalProperties=STRING),
        objects({}, additionalProperties=STRING),
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "/properties/b",
    ),
    "required property added to a closed object": (
        closed({"a": STRING, "b": STRING}, required=["b"]),
        closed({"a": STRING}),
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "/properties/b",
    ),
    "property removed from a closed object": (
        closed({"a": STRING}),
        closed({"a": STRING, "b": STRING}),
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "/properties/b",
    ),
    "property removed and not covered": (
        objects({}, additionalProperties=STRING),
        closed({"b": INTEGER}),
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "/properties/b",
    ),
    "required added": (
        objects({"a": STRING}, required=["a"]),
        objects({"a": STRING}),
        "REQUIRED_ATTRIBUTE_ADDED",
        "/required/a",
    ),
    "closed": (closed({"a": STRING}), objects({"a": STRING}), "ADDITIONAL_PROPERTIES_REMOVED", "/additionalProperties"),
    "further properties limited": (
        objects({"a": STRING}, additionalProperties=STRING),
        objects({"a": STRING}),
        "ADDITIONAL_PROPERTIES_NARROWED",
        "/additionalProperties",
    ),
    "pattern of names added": (
        objects({}, patternProperties={"^x": STRING}),
        objects({}),
        "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "/patternProperties/^x",
    ),
    "schema of a pattern of names": (
        objects({}, patternProperties={"^x": INTEGER}),
        objects({}, patternProperties={"^x": NUMBER}),
        "TYPE_NARROWED",
        "/patternProperties/^x",
    ),
    "minProperties added": (objects(minProperties=2), objects(required=["a"]), "MIN_PROPERTIES_INCREASED", "/minProperties"),
    "maxProperties": (objects(maxProperties=1), closed({"a": {}, "b": {}}), "MAX_PROPERTIES_DECREASED", "/maxProperties"),
    "names limited": (objects(propertyNames={"maxLength": 2}), objects(), "SCHEMA_ADDED", "/propertyNames"),
    "dependency added": (objects(dependencies={"a": ["b"]}), objects(), "DEPENDENCY_ARRAY_ADDED", "/dependencies/a"),
    "dependency extended": (
        objects(dependencies={"a": ["b", "c"]}),
        objects(dependencies={"a": ["b"]}),
        "DEPENDENCY_ARRAY_EXTENDED",
        "/dependencies/a",
    ),
    "schema dependency added": (
        objects(dependencies={"a": {"required": ["b"]}}),
        objects(),
        "DEPENDENCY_SCHEMA_ADDED",
        "/dependencies/a",
    ),
    "enum narrowed": ({"enum": ["a"]}, {"enum": ["a", "b"]}, "ENUM_ARRAY_NARROWED", "/enum"),
    "enum changed": ({"enum": ["a", "c"]}, {"enum": ["a", "b"]}, "ENUM_ARRAY_CHANGED", "/enum"),
    "const changed": ({"const": 1}, {"const": 2}, "ENUM_ARRAY_CHANGED", "/const"),
    "enum added": ({"type": "string", "enum": ["a"]}, STRING, "ENUM_ARRAY_NARROWED", "/enum"),
    "minimum": ({"type": "integer", "minimum": 2}, {"type": "integer", "minimum": 1}, "MINIMUM_INCREASED", "/minimum"),
    "minimum added": ({"type": "integer", "minimum": 2}, INTEGER, "MINIMUM_ADDED", "/minimum"),
    "maximum": ({"type": "number", "maximum": 1}, {"type": "number", "maximum": 2}, "MAXIMUM_DECREASED", "/maximum"),
    "exclusive": (
        {"type": "number", "exclusiveMaximum": 1},
        {"type": "number", "maximum": 1},
        "EXCLUSIVE_MAXIMUM_DECREASED",
        "/exclusiveMaximum",
    ),
    "exclusive added": (
        {"type": "number", "exclusiveMinimum": 1},
        NUMBER,
        "EXCLUSIVE_MINIMUM_ADDED",
        "/exclusiveMinimum",
    ),
    "multipleOf added": ({"type": "number", "multipleOf": 2}, INTEGER, "MULTIPLE_OF_ADDED", "/multipleOf"),
    "multipleOf expanded": ({"multipleOf": 4}, {"type": "integer", "multipleOf": 2}, "MULTIPLE_OF_EXPANDED", "/multipleOf"),
    "multipleOf changed": ({"multipleOf": 3}, {"type": "integer", "multipleOf": 2}, "MULTIPLE_OF_CHANGED", "/multipleOf"),
    "maxLength": ({"maxLength": 1}, {"type": "string", "maxLength": 2}, "MAX_LENGTH_DECREASED", "/maxLength"),
    "minLength": ({"minLength": 1}, STRING, "MIN_LENGTH_ADDED", "/minLength"),
    "pattern added": ({"pattern": "^a"}, STRING, "PATTERN_ADDED", "/pattern"),
    "pattern changed": ({"pattern": "^a"}, {"type": "string", "pattern": "^b"}, "PATTERN_CHANGED", "/pattern"),
    "maxItems": ({"maxItems": 1}, {"type": "array", "maxItems": 2}, "MAX_ITEMS_DECREASED", "/maxItems"),
    "minItems": ({"minItems": 1}, {"type": "array"}, "MIN_ITEMS_ADDED", "/minItems"),
    "uniqueItems": ({"uniqueItems": True}, {"type": "array"}, "UNIQUE_ITEMS_ADDED", "/uniqueItems"),
    "items narrowed": ({"items": INTEGER}, {"type": "array", "items": NUMBER}, "TYPE_NARROWED", "/items"),
    "items added": ({"items": INTEGER}, {"type": "array"}, "SCHEMA_ADDED", "/items"),
    "item added to an open tuple": (
        {"items": [STRING, INTEGER]},
        {"type": "array", "items": [STRING]},
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        "/items/1",
    ),
    "item not covered": (
        {"items": [STRING, INTEGER], "additionalItems": STRING},
        {"type": "array", "items": [STRING], "additionalItems": STRING},
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "/items/1",
    ),
    "item removed from a closed tuple": (
        {"items": [STRING], "additionalItems": False},
        {"type": "array", "items": [STRING, INTEGER], "additionalItems": False},
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "/items/1",
    ),
    "item removed and not covered": (
        {"items": [STRING], "additionalItems": STRING},
        {"type": "array", "items": [STRING, INTEGER], "additionalItems": STRING},
        "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "/items/1",
    ),
    "tuple closed": (
        {"items": [STRING], "additionalItems": False},
        {"type": "array", "items": [STRING]},
        "ADDITIONAL_ITEMS_REMOVED",
        "/additionalItems",
    ),
    "further items limited": (
        {"items": [STRING], "additionalItems": STRING},
        {"type": "array", "items": [STRING]},
        "ADDITIONAL_ITEMS_NARROWED",
        "/additionalItems",
    ),
    "prefixItems": (
        {"$schema": NEW_TUPLE, "prefixItems": [STRING, INTEGER]},
        {"$schema": NEW_TUPLE, "type": "array", "prefixItems": [STRING]},
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        "/prefixItems/1",
    ),
    "contains added": ({"contains": STRING}, {"type": "array"}, "SCHEMA_ADDED", "/contains"),
    "anyOf narrowed": ({"anyOf": [STRING]}, {"anyOf": [STRING, INTEGER]}, "SUM_TYPE_NARROWED", "/anyOf"),
    "oneOf narrowed": ({"oneOf": [STRING, NULL]}, {"oneOf": [STRING, NULL, INTEGER]}, "SUM_TYPE_NARROWED", "/oneOf"),
    "anyOf changed": (
        {"anyOf": [STRING, NULL]},
        {"anyOf": [STRING, INTEGER]},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        "/anyOf",
    ),
    "allOf extended": ({"allOf": [STRING, {"maxLength": 3}]}, {"allOf": [STRING]}, "MAX_LENGTH_ADDED", "/allOf/1/maxLength"),
    "not extended": ({"not": {"type": ["string", "null"]}}, {"not": STRING}, "NOT_TYPE_EXTENDED", "/not"),
    "condition tightened": (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"type": "object"},
        "REQUIRED_ATTRIBUTE_ADDED",
        "/then/required/b",
    ),
    "inside a definition": (
        objects({"a": {"items": {"$ref": "#/definitions/s"}}}, definitions={"s": INTEGER}),
        objects({"a": {"items": {"$ref": "#/definitions/s"}}}, definitions={"s": NUMBER}),
        "TYPE_NARROWED",
        "/properties/a/items",
    ),
    "inside a recursion": (
        closed({"v": INTEGER, "next": {"$ref": "#"}}),
        closed({"v": NUMBER, "next": {"$ref": "#"}}),
        "TYPE_NARROWED",
        "/properties/v",
    ),
}


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
    assert item.message == "the reader asks for maxLength 5 and the writer kept to maxLength 9. Keep maxLength at least 9."


def test_all_findings_are_given_at_once() -> None:
    old = objects({"a": STRING, "b": {"type": "object", "properties": {"c": NUMBER}}})
    new = objects({"a": INTEGER, "b": {"type": "object", "properties": {"c": INTEGER}}, "d": STRING}, required=["a"])
    assert found(new, old) == [
        ("REQUIRED_ATTRIBUTE_ADDED", "/required/a"),
        ("TYPE_CHANGED", "/properties/a"),
        ("TYPE_NARROWED", "/properties/b/properties/c"),
        ("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "/properties/d"),
    ]


@pytest.mark.parametrize(
    ("new", "old", "glue"),
    [
        (
            objects({"a": {"type": "string", "default": ""}}, required=["a"]),
            objects({"a": STRING}),
            ("REQUIRED_ATTRIBUTE_ADDED", "/required/a"),
        ),
        (objects({"a": STRING}), {"properties": {"a": STRING}}, ("TYPE_CHANGED", "/")),
        (STRING, {"maxLength": 3}, ("TYPE_CHANGED", "/")),
        (objects({"a": {}}, required=["b"]), objects({"a": {}}), ("REQUIRED_ATTRIBUTE_ADDED", "/required/b")),
        ({"oneOf": [INTEGER, NUMBER]}, {"oneOf": [INTEGER]}, ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "/oneOf")),
        ({"oneOf": [objects({}), objects({"a": STRING})]}, objects({}), ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "/oneOf")),
    ],
)
def test_where_the_apis_differ(new: dict[str, Any], old: dict[str, Any], glue: tuple[str, str]) -> None:
    assert found(new, old) == [glue]
    assert found(new, old, CONFLUENT_RULES) == []


ANY, ONE, ALL = "anyOf", "oneOf", "allOf"
STRICT_UNDER_CONFLUENTS_RULES = {
    # CombinedSchemaDiff: no oneOf for an anyOf or allOf of several. 0, 6 and 150 break in each.
    "anyOf becomes oneOf": ({ONE: [{"maximum": 100}, {"multipleOf": 6}]}, {ANY: [{"maximum": 100}, {"multipleOf": 6}]}),
    "allOf becomes oneOf": ({ONE: [{"maximum": 100}, {"multipleOf": 6}]}, {ALL: [{"maximum": 100}, {"multipleOf": 6}]}),
    "a list of types becomes oneOf": ({ONE: [INTEGER, NUMBER, STRING]}, {"type": ["integer", "string"]}),
    "anyOf in a property": (
        objects({"a": {ONE: [NUMBER, INTEGER]}}),
        objects({"a": {ANY: [NUMBER, INTEGER]}}),
    ),
    # SchemaDiff: an anyOf of several is no StringSchema; 1 breaks.
    "an alternative implies no type": (STRING, {ANY: [STRING, {"maxLength": 5}]}),
    "nor does one of oneOf": (STRING, {ONE: [STRING, {"maxLength": 5}]}),
    "nor does one behind a reference": (
        STRING,
        {ANY: [STRING, {"$ref": "#/definitions/short"}], "definitions": {"short": {ALL: [{"maxLength": 5}]}}},
    ),
    # SchemaDiff: ArraySchema is no ObjectSchema; {"a": 1} breaks.
    "keywords about another type": ({"properties": {"a": STRING}}, {"items": STRING}),
    "keywords about a further type": ({"items": STRING, "properties": {"a": STRING}}, {"items": STRING}),
    "not beside what implies a type": ({"items": STRING, "not": {"type": "object"}}, {"items": STRING}),
    "types implied that exclude each other": (STRING, {ALL: [{"maxLength": 5}, {"items": STRING}]}),
}


@pytest.mark.parametrize(("new", "old"), STRICT_UNDER_CONFLUENTS_RULES.values(), ids=STRICT_UNDER_CONFLUENTS_RULES)
def test_confluents_rules_are_no_laxer_than_its_classes(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert found(new, old, CONFLUENT_RULES) != []


LAX_UNDER_CONFLUENTS_RULES = {
    "an implied type said": ({"type": "array", "items": NUMBER}, {"items": INTEGER}),
    "an implied type widened": ({"type": ["array", "null"], "items": NUMBER}, {"items": INTEGER}),
    "an implied type among alternatives": ({ANY: [{"type": "array"}, STRING]}, {"items": INTEGER}),
    "keywords that the reader's type leaves no room for": ({"type": "string", "maximum": 3}, {"maxLength": 5}),
    "a single alternative": (STRING, {ANY: [{"maxLength": 5}]}),
    "oneOf stays": ({ONE: [INTEGER, NUMBER, STRING]}, {ONE: [INTEGER, STRING]}),
    "alternatives of oneOf that exclude each other": ({ONE: [STRING, NULL, INTEGER]}, {ANY: [STRING, NULL]}),
    "a single schema becomes oneOf": ({ONE: [INTEGER, NUMBER]}, {ANY: [INTEGER]}),
}


@pytest.mark.parametrize(("new", "old"), LAX_UNDER_CONFLUENTS_RULES.values(), ids=LAX_UNDER_CONFLUENTS_RULES)
def test_confluents_rules_take_what_its_classes_take(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert found(new, old, CONFLUENT_RULES) == []


def test_the_lenient_policy() -> None:
    lenient = replace(CONFLUENT_RULES, json=JsonRules(lenient_content_models=True))
    for name, (new, old, rule, path) in REFUSED.items():
        passes = rule in {
            "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "ADDITIONAL_PROPERTIES_REMOVED",
            "ADDITIONAL_PROPERTIES_NARROWED",
        }
        assert found(new, old, lenient) == ([] if passes else [(rule, path)]), name


def test_a_list_of_one_type_is_that_type_where_schemas_are_compared_as_a_whole() -> None:
    base = {"$schema": NEW_TUPLE, "anyOf": [{"type": "array"}, STRING], "unevaluatedItems": False}
    assert found(base | {"anyOf": [{"type": ["array"]}, STRING]}, base) == []


def test_unevaluated_properties_alone_are_a_content_model() -> None:
    open_object = {"$schema": NEW_TUPLE, "type": "object", "properties": {"a": STRING}}
    closed_object = open_object | {"unevaluatedProperties": False}
    wider = closed_object | {"properties": {"a": STRING, "b": STRING}}
    assert found(wider, closed_object) == []
    assert found(closed_object, wider) == [("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "/properties/b")]
    assert found(closed_object, open_object) == [("ADDITIONAL_PROPERTIES_REMOVED", "/unevaluatedProperties")]


def test_unevaluated_properties_close_what_all_schemas_list_together() -> None:
    base = {
        "$schema": NEW_TUPLE,
        "allOf": [objects({"a": STRING})],
        "$ref": "#/$defs/b",
        "$defs": {"b": objects({"b": STRING})},
    }
    shut = base | {"unevaluatedProperties": False}
    wider = shut | {"allOf": [objects({"a": STRING}), objects({"c": STRING})]}
    assert found(wider, shut) == found(base, shut) == []
    assert found(shut, wider) == [("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "/properties/c")]
    assert found(shut, base) == [("ADDITIONAL_PROPERTIES_REMOVED", "/unevaluatedProperties")]
    assert found(shut, shut | {"allOf": [objects({"a": STRING}, additionalProperties={})]}) == [
        ("ADDITIONAL_PROPERTIES_REMOVED", "/unevaluatedProperties")
    ]


def test_unevaluated_properties_beside_alternatives_are_compared_as_a_whole() -> None:
    base = {"$schema": NEW_TUPLE, "anyOf": [objects({"a": STRING}), objects({"b": STRING})], "unevaluatedProperties": False}
    assert found(base | {"title": "renamed"}, base) == []
    assert ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "/unevaluatedProperties") in found(base | {"minProperties": 0}, base)


def test_referenced_definitions_are_compared_as_they_were() -> None:
    def read(kind: str) -> ParsedSchema:
        return JSON.parse('{"items": {"$ref": "b.json"}}', [ReferencedText(name="b.json", text=json.dumps({"type": kind}))])

    assert JSON.readable(read("number"), read("integer"), GLUE_RULES) == []
    assert [item.path for item in JSON.readable(read("integer"), read("number"), GLUE_RULES)] == ["/items"]
