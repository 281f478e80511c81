"""Short definitions for tests of compatibility, and what is found between two."""

import json
from typing import Any

from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES, CompatibilityRules

__all__ = ["INTEGER", "JSON", "NEW_TUPLE", "NULL", "NUMBER", "REFUSED", "STRING", "closed", "found", "objects"]

JSON = format_of("JSON")


STRING, INTEGER, NUMBER, NULL = ({"type": kind} for kind in ("string", "integer", "number", "null"))


NEW_TUPLE = "https://json-schema.org/draft/2020-12/schema"


def objects(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties or {}, **more}


def closed(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return objects(properties, additionalProperties=False, **more)


def found(new: Any, old: Any, rules: CompatibilityRules = GLUE_RULES) -> list[tuple[str, str]]:
    """Rule and path of each reason why ``new`` cannot read data of ``old``."""
    reader, writer = JSON.parse(json.dumps(new)), JSON.parse(json.dumps(old))
    return [(item.rule, item.path) for item in JSON.readable(reader, writer, rules)]


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
