"""JSON Schemas with what they refer to in one text; the reference is the jsonschema library over the separate documents."""

import json
from typing import Any

import jsonschema
import pytest
import referencing
from jsonschema.validators import validator_for
from referencing.jsonschema import DRAFT7

from penstock.schema.errors import NotSelfContained
from penstock.schema.format import ReferencedText
from penstock.schema.formats.jsonschema import JsonSchemaFormat

BASE = "http://example.com/root.json"
ADDRESS = {
    "$id": "http://example.com/address.json",
    "type": "object",
    "properties": {
        "city": {"$ref": "#/definitions/name"},
        "near": {"$ref": "#"},
        "land": {"$ref": "land.json#/definitions/c/d"},
    },
    "definitions": {"name": {"type": "string", "maxLength": 5}},
    "additionalProperties": False,
}
LAND: dict[str, Any] = {"definitions": {"c/d": {"$ref": "#up"}, "x": {"$id": "#up", "type": "integer"}}}
LAND["definitions"]["c"] = {"d": {"$ref": "#/definitions/c~1d"}}
ORDER: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": BASE,
    "type": "object",
    "properties": {
        "to": {"$ref": "address.json"},
        "from": {"allOf": [{"$ref": "address.json#/definitions/name"}]},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
        "$ref": {"const": {"$ref": "address.json"}},
        "part": {"$ref": "parts/one.json"},
    },
    "definitions": {
        "line": {"type": "integer"},
        "address.json": {"type": "boolean"},
        "part": {"$id": "parts/one.json", "properties": {"p": {"$ref": "#/definitions/q"}, "a": {"$ref": "../address.json"}},
                 "definitions": {"q": {"type": "null"}}},
    },
}  # fmt: skip
VALUES = [
    {},
    {"to": {"city": "Rome"}},
    {"to": {"city": "Roma Capitale"}},
    {"to": {"near": {"near": {"city": "Pisa", "land": 1}}}},
    {"to": {"near": {"near": {"town": "Pisa"}}}},
    {"to": {"land": "x"}},
    {"from": "abc"},
    {"from": "abcdef"},
    {"lines": [1, 2]},
    {"lines": [1, "2"]},
    {"$ref": {"$ref": "address.json"}},
    {"$ref": 1},
    {"part": {"p": None, "a": {"city": "Bari"}}},
    {"part": {"p": 1}},
    {"part": {"a": {"city": 7}}},
]


def bundle(root: dict[str, Any], **others: Any) -> str:
    texts = tuple(ReferencedText(name=name, text=json.dumps(other)) for name, other in others.items())
    parsed = JsonSchemaFormat().parse(json.dumps(root), texts)
    return JsonSchemaFormat().standalone(parsed)


def no_lookup(uri: str) -> Any:
    raise AssertionError(uri)


MAKE_REGISTRY: Any = referencing.Registry
NO_LOOKUP = MAKE_REGISTRY(retrieve=no_lookup)


def test_the_bundle_takes_the_same_values() -> None:
    text = bundle(ORDER, **{"address.json": ADDRESS, "land.json": LAND})
    resources = [
        (uri, referencing.Resource.from_contents(schema, default_specification=DRAFT7))
        for uri, schema in (("http://example.com/address.json", ADDRESS), ("http://example.com/land.json", LAND))
    ]
    apart = jsonschema.Draft7Validator(ORDER, registry=referencing.Registry().with_resources(resources))
    together = jsonschema.Draft7Validator(json.loads(text), registry=NO_LOOKUP)
    verdicts = [apart.is_valid(value) for value in VALUES]
    assert [together.is_valid(value) for value in VALUES] == verdicts
    assert True in verdicts
    assert False in verdicts
    # It builds on nothing, and is not what it was put together from by chance.
    assert JsonSchemaFormat().parse(text).text == text
    assert json.loads(text)["properties"]["$ref"] == ORDER["properties"]["$ref"]


@pytest.mark.parametrize(
    ("draft", "holder"),
    [
        ("http://json-schema.org/draft-04/schema#", "definitions"),
        ("http://json-schema.org/draft-06/schema#", "definitions"),
        ("https://json-schema.org/draft/2019-09/schema", "$defs"),
        ("https://json-schema.org/draft/2020-12/schema", "$defs"),
    ],
)
def test_each_draft_has_its_place_for_them(draft: str, holder: str) -> None:
    other = {"$schema": draft, ("id" if "04" in draft else "$id"): "urn:x:y", "minimum": 3}
    document = json.loads(bundle({"$schema": draft, "properties": {"a": {"$ref": "a(b)/c"}}}, **{"a(b)/c": other}))
    assert document[holder] == {"a_b_c": {"minimum": 3}}
    check = validator_for(document)(document, registry=NO_LOOKUP)
    assert check.is_valid({"a": 3})
    assert not check.is_valid({"a": 2})


def test_true_and_false_are_definitions_too() -> None:
    document = json.loads(bundle({"properties": {"a": {"$ref": "never"}}}, never=False))
    assert jsonschema.Draft7Validator(document).is_valid({"b": 1})
    assert not jsonschema.Draft7Validator(document).is_valid({"a": 1})


def test_what_refers_to_nothing_stays_as_it_is() -> None:
    text = '{ "type" : "object" }'
    parsed = JsonSchemaFormat().parse(text, (ReferencedText(name="a", text="{}"),))
    assert JsonSchemaFormat().standalone(parsed) == text


@pytest.mark.parametrize(
    ("root", "other"),
    [
        ({"$ref": "a"}, {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}),
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "a"},
            {"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}},
        ),
    ],
)
def test_what_cannot_be_one_text_is_said(root: dict[str, str], other: dict[str, Any]) -> None:
    with pytest.raises(NotSelfContained):
        bundle(root, a=other)
