"""Where Confluent's rules of JSON Schema and Glue's differ, and where they are as strict as Confluent's classes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES, JsonRules
from tests.unit.schema.jsonschema.json_cases import (
    INTEGER,
    JSON,
    NEW_TUPLE,
    NULL,
    NUMBER,
    REFUSED,
    STRING,
    found,
    objects,
)


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


LATEST = "https://json-schema.org/draft/2020-12/schema"
LISTED_ADDITIONAL: dict[str, Any] = {"items": STRING, "additionalItems": True}
# ObjectSchemaDiff and ArraySchemaDiff compare these keywords by themselves: cases 52, 88 and 89 of draft 7 and 50 of draft
# 2020-12 in Confluent's own test data, and what follows from the classes. By name: new, old, rule and path, or None.
KEYWORDS_ALONE: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str] | None]] = {
    "52 of draft 7: a dependency's schema": (
        *({"dependencies": {"a": NUMBER}}, {"dependencies": {"a": STRING}}, ("TYPE_CHANGED", "/dependencies/a")),
    ),
    "50 of draft 2020-12: a dependency's schema": (
        {"$schema": LATEST, "dependentSchemas": {"a": NUMBER}},
        {"$schema": LATEST, "dependentSchemas": {"a": STRING}},
        ("TYPE_CHANGED", "/dependentSchemas/a"),
    ),
    "a dependency's wider schema": ({"dependencies": {"a": NUMBER}}, {"dependencies": {"a": INTEGER}}, None),
    "a dependency less": ({"dependencies": {}}, {"dependencies": {"a": STRING}}, None),
    "a dependency more, which no value can break": (
        *({"dependencies": {"a": {}}}, objects({"b": STRING}), ("DEPENDENCY_SCHEMA_ADDED", "/dependencies/a")),
    ),
    "88 of draft 7: additional items refused": (
        *({"additionalItems": False}, {"additionalItems": True}, ("ADDITIONAL_ITEMS_REMOVED", "/additionalItems")),
    ),
    "89 of draft 7: additional items changed": (
        *({"additionalItems": NUMBER}, {"additionalItems": STRING}, ("TYPE_CHANGED", "/additionalItems")),
    ),
    "additional items narrowed": (
        *({"additionalItems": NUMBER}, {"additionalItems": True}, ("ADDITIONAL_ITEMS_NARROWED", "/additionalItems")),
    ),
    "additional items widened": ({"additionalItems": NUMBER}, {"additionalItems": INTEGER}, None),
    "additional items allowed": ({"additionalItems": True}, {"additionalItems": False}, None),
    "additional items beside one schema of all items": (
        {**LISTED_ADDITIONAL, "additionalItems": False},
        LISTED_ADDITIONAL,
        ("ADDITIONAL_ITEMS_REMOVED", "/additionalItems"),
    ),
    "a keyword that draft 2020-12 does not have": (
        *({"$schema": LATEST, "additionalItems": False}, {"$schema": LATEST, "additionalItems": True}, None),
    ),
}


@pytest.mark.parametrize(("new", "old", "expected"), KEYWORDS_ALONE.values(), ids=KEYWORDS_ALONE)
def test_keywords_that_confluent_compares_by_themselves(
    new: dict[str, Any], old: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    assert found(new, old, CONFLUENT_RULES) == ([] if expected is None else [expected])
    assert found(new, old) == [], "no value shows a difference, so Glue's rules accept it"


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
