"""Definitions of JSON Schema: what is read, what is refused where, what is the same, and what its fields and columns are."""

import builtins
import json
import sys
from typing import Any

import pytest

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.jsonschema.document import validator_of

JSON = format_of("JSON")
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def parse(definition: Any, **references: Any) -> ParsedSchema:
    given = [ReferencedText(name=name, text=json.dumps(text)) for name, text in references.items()]
    return JSON.parse(json.dumps(definition), given)


@pytest.mark.parametrize(
    ("definition", "path", "words"),
    [
        ({"type": "text"}, "/type", "not a type"),
        ({"properties": {"a": {"type": ["string", 3]}}}, "/properties/a/type", "not a type"),
        ({"minLength": -1}, "/minLength", "less than the minimum"),
        ({"required": "a"}, "/required", "not of type"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema", "not a supported draft"),
        ({"$schema": 7}, "/$schema", "not a supported draft"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern", "not a regular expression"),
        ({"patternProperties": {"[": {}}}, "/patternProperties/[", "not a regular expression"),
        ({"pattern": "a{3,2}"}, "/pattern", "minimum above its maximum"),
        ({"$ref": "http://localhost/schema.json"}, "/$ref", "URLs and files are never looked up"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "/items/$ref", "URLs and files are never looked up"),
        ({"items": {"$ref": "/etc/passwd"}}, "/items/$ref", "URLs and files are never looked up"),
        ({"$ref": "other.json#/definitions/a"}, "/$ref", "URLs and files are never looked up"),
        ({"$ref": "http://json-schema.org/draft-07/schema#"}, "/$ref", "URLs and files are never looked up"),
        ({"$ref": "#/definitions/a", "definitions": {"b": {}}}, "/$ref", "does not point to a schema"),
        ({"$ref": "#a"}, "/$ref", "does not point to a schema"),
        ({"$ref": "#/title", "title": "t"}, "/$ref", "does not point to a schema"),
        ({"$ref": "#"}, "/", "would never end"),
        ({"anyOf": [{"type": "null"}, {"allOf": [{"$ref": "#"}]}]}, "/anyOf/1/allOf/0", "would never end"),
        (3, "", "is a number"),
        ([], "", "is an array"),
        (None, "", "is null"),
    ],
)
def test_refused_definitions(definition: Any, path: str, words: str) -> None:
    with pytest.raises(InvalidSchema, match=words) as refused:
        parse(definition)
    assert refused.value.path == path


@pytest.mark.parametrize(
    "text", ["", "{", '{"type": "string",}', '{"a": 1, "a": 2}', '{"minimum": NaN}', "{'type': 'null'}"]
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        JSON.parse(text)


@pytest.mark.parametrize(
    "definition",
    [
        True,
        False,
        {},
        {"properties": {"next": {"$ref": "#"}}},
        {"$ref": "#/definitions/a%25~1b", "definitions": {"a%/b": {"type": "string"}}},
        {"$ref": "#/x/y", "x": {"y": {"type": "string"}}},
        {"$ref": "#a", "definitions": {"x": {"$id": "#a"}}},
        {"$schema": DRAFT_2020, "$ref": "#a", "$defs": {"x": {"$anchor": "a"}}},
        {"$id": "urn:example:a", "$ref": "#/definitions/x", "definitions": {"x": {}}},
        {"$id": "http://example.com/a/b", "items": {"$ref": "c"}, "definitions": {"x": {"$id": "c", "type": "null"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True, "id": "http://a/b"},
        {"$schema": "http://json-schema.org/draft-06/schema", "const": 1},
        {"$schema": "https://json-schema.org/draft-07/schema#"},
        {"$schema": DRAFT_2020, "$dynamicAnchor": "n", "properties": {"c": {"items": {"$dynamicRef": "#n"}}}},
        {"properties": {"$ref": {"type": "string"}, "required": {"type": "array"}}},
        {"unknown": {"$ref": "http://nowhere/"}, "default": {"$ref": "#/nowhere"}, "enum": [{"$ref": "#/nowhere"}]},
        {"pattern": r"^\p{L}{1,255}$"},
        {"pattern": r"^(?=.*[a-z])(?!x)(\w)\1$"},
    ],
)
def test_accepted_definitions(definition: bool | dict[str, Any]) -> None:
    parsed = parse(definition)
    assert JSON.parse(parsed.canonical).fingerprint == parsed.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"type": "object", "title": "t"}', '{"title":"t","type":"object"}'),
        ('{"required": ["b", "a"]}', '{"required": ["a", "b"]}'),
        ('{"enum": [2, 1.0, "a"]}', '{"enum": ["a", 1, 2.0]}'),
        ('{"type": ["string"]}', '{"type": "string"}'),
        ('{"type": ["string", "null"]}', '{"type": ["null", "string"]}'),
        ('{"minimum": 1.0, "maximum": 1e2}', '{"minimum": 1, "maximum": 100}'),
        ('{"dependencies": {"a": ["c", "b"]}}', '{"dependencies": {"a": ["b", "c"]}}'),
        ('{"$schema": "http://json-schema.org/draft-07/schema#"}', "{}"),
        (
            '{"$schema": "https://json-schema.org/draft/2020-12/schema#"}',
            '{"$schema": "https://json-schema.org/draft/2020-12/schema"}',
        ),
        ('{"properties": {"a": {"enum": ["b", "a"]}}}', '{"properties": {"a": {"enum": ["a", "b"]}}}'),
        ('{"items": [{"required": ["b", "a"]}, true]}', '{"items": [{"required": ["a", "b"]}, true]}'),
    ],
)
def test_one_fingerprint_for_all_spellings(one: str, other: str) -> None:
    assert JSON.parse(one).fingerprint == JSON.parse(other).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"title": "a"}', '{"title": "b"}'),
        ('{"description": "a"}', "{}"),
        ('{"default": ["b", "a"]}', '{"default": ["a", "b"]}'),
        ('{"default": {"required": ["b", "a"]}}', '{"default": {"required": ["a", "b"]}}'),
        ('{"examples": [1]}', '{"examples": [true]}'),
        ('{"enum": [1]}', '{"enum": [true]}'),
        ('{"anyOf": [{"type": "null"}, {}]}', '{"anyOf": [{}, {"type": "null"}]}'),
        ('{"properties": {"enum": {"examples": [1, 2]}}}', '{"properties": {"enum": {"examples": [2, 1]}}}'),
        ('{"x-owner": ["b", "a"]}', '{"x-owner": ["a", "b"]}'),
        ('{"properties": {"": true, "a": {}}}', '{"properties": {"": true, "a": {"type": "null"}}}'),
        ('{"properties": {"": {}, "a": {}}}', '{"properties": {"": {}, "a": {"type": "null"}}}'),
        ('{"$schema": "http://json-schema.org/draft-04/schema#"}', "{}"),
        ("true", "{}"),
    ],
)
def test_what_a_reader_can_notice_counts(one: str, other: str) -> None:
    assert JSON.parse(one).fingerprint != JSON.parse(other).fingerprint


def test_references_between_definitions() -> None:
    definition = {"$id": "http://example.com/a/order.json", "properties": {"buyer": {"$ref": "buyer.json#/definitions/p"}}}
    buyer = {"definitions": {"p": {"properties": {"home": {"$ref": "address.json"}}}}}
    parsed = parse(definition, **{"http://example.com/a/address.json": {"type": "string"}, "buyer.json": buyer})
    accepts = validator_of(parsed.tree.document).is_valid
    assert accepts({"buyer": {"home": "x"}})
    assert not accepts({"buyer": {"home": 3}})
    other = parse(definition, **{"http://example.com/a/address.json": {"type": "integer"}, "buyer.json": buyer})
    assert parsed.canonical == other.canonical
    assert parsed.fingerprint != other.fingerprint
    with pytest.raises(InvalidSchema, match=r"buyer\.json#/definitions/p/properties/home/\$ref: .*address\.json"):
        parse(definition, **{"buyer.json": buyer})


def test_a_reference_is_found_by_its_name_whatever_its_own_id() -> None:
    buyer = {"$id": "http://elsewhere.example/buyer", "properties": {"home": {"$ref": "address.json"}}}
    parsed = parse({"items": {"$ref": "buyer.json"}}, **{"address.json": {"type": "string"}, "buyer.json": buyer})
    accepts = validator_of(parsed.tree.document).is_valid
    assert [accepts([{"home": "x"}]), accepts([{"home": 3}])] == [True, False]
    empty: list[Any] = [[], {}]
    assert [accepts(item) for item in empty] == [True, True]


def test_an_invalid_reference_is_named() -> None:
    with pytest.raises(InvalidSchema, match=r"address\.json.*text"):
        parse({"items": {"$ref": "address.json"}}, **{"address.json": {"type": "text"}})
    with pytest.raises(InvalidSchema, match=r"address\.json.* is a number"):
        parse({"items": {"$ref": "address.json"}}, **{"address.json": 3})


def test_patterns_of_the_validator_are_the_definitions() -> None:
    accepts = validator_of(parse({"patternProperties": {"^a{2}$": {"pattern": "^b{3}$"}}}).tree.document).is_valid
    assert [accepts({"aa": text}) for text in ("bbb", "bbbb")] == [True, False]
    assert accepts({"aaa": "bbbb"})


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "jsonschema_rs":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.delitem(sys.modules, "jsonschema_rs", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'penstock\[json\]'"):
        JSON.parse("{}")


def test_pretty() -> None:
    assert JSON.pretty(JSON.parse('{"type":"string","title":"Größe"}')) == '{\n  "title": "Größe",\n  "type": "string"\n}'


def test_fields() -> None:
    schema = parse(
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "the key"},
                "name": {"type": ["string", "null"]},
                "kind": {"enum": ["a", "b"]},
                "home": {"$ref": "#/definitions/home"},
                "any": {},
            },
            "required": ["id"],
            "definitions": {"home": {"type": "object", "description": "where"}},
        }
    )
    assert [(item.name, item.type, item.doc, item.required) for item in JSON.fields(schema)] == [
        ("id", "integer", "the key", True),
        ("name", "null or string", None, False),
        ("kind", "enum of string", None, False),
        ("home", "object", "where", False),
        ("any", "any value", None, False),
    ]
    assert JSON.fields(parse({"type": "string"})) == ()


COLUMNS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bigint": {"type": "integer"},
    "double": {"type": "number"},
    "boolean": {"type": "boolean"},
    "array<bigint>": {"type": "array", "items": {"type": "integer"}},
    "array<string>": {"type": "array"},
    "struct<a:bigint,b:array<struct<c:string>>>": {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}},
        },
    },
    "map<string,double>": {"type": "object", "additionalProperties": {"type": "number"}},
    "map<string,bigint>": {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns(kind: str) -> None:
    nullable = {"anyOf": [{"type": "null"}, COLUMNS[kind]]}
    referred = {"$ref": "#/definitions/r"}
    schema = parse(
        {
            "type": "object",
            "properties": {"a": COLUMNS[kind] | {"description": "doc"}, "b": nullable, "c": referred},
            "definitions": {"r": COLUMNS[kind]},
        }
    )
    assert [(item.name, item.type, item.comment) for item in JSON.columns(schema)] == [
        ("a", kind, "doc"),
        ("b", kind, None),
        ("c", kind, None),
    ]


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "string", "format": "date-time"},
        {"type": ["string", "integer"]},
        {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]},
        {"type": "object"},
        {},
        {"enum": ["a", None]},
        {"type": "null"},
    ],
)
def test_what_has_no_one_type_is_text(definition: dict[str, Any]) -> None:
    (column,) = JSON.columns(parse({"type": "object", "properties": {"a": definition}}))
    assert column.type == "string"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"type": "string"}, "object with properties"),
        ({}, "object with properties"),
        ({"type": "object"}, "object with properties"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "contains itself"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}}, "contains itself"),
        ({"type": "object", "properties": {"a": {"type": "object", "properties": {"b:c": {}}}}}, "b:c"),
    ],
)
def test_no_columns(definition: dict[str, Any], words: str) -> None:
    with pytest.raises(NoColumns, match=words):
        JSON.columns(parse(definition))


def test_columns_of_a_combined_object() -> None:
    schema = parse(
        {
            "allOf": [
                {"type": "object", "properties": {"id": {"type": "integer"}}},
                {"$ref": "#/definitions/more"},
            ],
            "definitions": {"more": {"properties": {"name": {"type": "string", "description": "whose"}}}},
        }
    )
    assert [(item.name, item.type, item.comment) for item in JSON.columns(schema)] == [
        ("id", "bigint", None),
        ("name", "string", "whose"),
    ]


@pytest.mark.parametrize("said", ['"objekt"', '["string","strin"]', '["string","string"]'])
def test_what_is_no_type_is_told_the_types(said: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        format_of("JSON").parse(f'{{"properties":{{"a":{{"type":{said}}}}}}}')
    assert refused.value.path == "/properties/a/type"
    assert f"{said} is not a type" in str(refused.value)
    assert "one of array, boolean, integer, null, number, object, string" in str(refused.value)
