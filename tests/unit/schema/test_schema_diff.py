"""What changed between two schemas: every change is found, and every broken rule is charged to the change that breaks it."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.schema.compatibility import CompatibilityMode, check
from penstock.schema.diff.compare import compare
from penstock.schema.diff.model import Change, SchemaDiff
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from tests.unit.docs.compatibility_page import Claim, claims
from tests.unit.schema.avro.avro_schemas import records, respelled
from tests.unit.schema.jsonschema.json_schemas import edited, schema, with_definitions

APIS = {"Glue": GLUE_RULES, "Confluent": CONFLUENT_RULES}
PAIRS = list({(claim.old, claim.new, claim.api): claim for claim in claims()}.values())


def parse(definition: Any, data_format: str = "AVRO") -> ParsedSchema:
    return format_of(data_format).parse(definition if isinstance(definition, str) else json.dumps(definition))


def difference(old: Any, new: Any, data_format: str = "AVRO") -> SchemaDiff:
    return compare(parse(old, data_format), parse(new, data_format))


def told(found: SchemaDiff) -> list[tuple[str, str, str, str | None, str | None]]:
    return [(change.kind, change.part, change.path, change.old, change.new) for change in found.changes]


def charges(found: SchemaDiff) -> dict[tuple[str, str], list[tuple[str, str]]]:
    def broken(change: Change) -> list[tuple[str, str]]:
        return [(item.direction, item.incompatibility.rule) for item in change.breaks]

    return {(change.path, change.part): broken(change) for change in found.changes if change.breaks}


def flight(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Flight", "fields": list(fields)}


def test_fields_of_a_record() -> None:
    state = {"type": "enum", "name": "State", "symbols": ["ON_TIME", "LATE"]}
    old = flight({"name": "id", "type": "int"}, {"name": "gate", "type": "string"}, {"name": "state", "type": state})
    new = flight(
        {"name": "id", "type": "long", "doc": "The number."},
        {"name": "state", "type": {**state, "symbols": ["ON_TIME", "GONE"]}},
        {"name": "carrier", "type": ["null", "string"], "default": None},
    )
    schema_diff = difference(old, new)
    assert told(schema_diff) == [
        ("added", "doc", "/id", None, "The number."),
        ("changed", "type", "/id", "int", "long"),
        ("removed", "field", "/gate", "string", None),
        ("removed", "symbol", "/state", "LATE", None),
        ("added", "symbol", "/state", None, "GONE"),
        ("added", "field", "/carrier", None, "union of null, string = null"),
    ]
    assert charges(schema_diff) == {
        ("/gate", "field"): [("FORWARD", "READER_FIELD_MISSING_DEFAULT_VALUE")],
        ("/id", "type"): [("FORWARD", "TYPE_MISMATCH")],
        ("/state", "symbol"): [("FORWARD", "MISSING_ENUM_SYMBOLS")],
    }
    removed = next(change for change in schema_diff.changes if change.old == "LATE")
    assert [item.direction for item in removed.breaks] == ["BACKWARD"]
    assert schema_diff.to_json()["broken_modes"] == [
        "BACKWARD",
        "BACKWARD_ALL",
        "FORWARD",
        "FORWARD_ALL",
        "FULL",
        "FULL_ALL",
    ]


def test_a_default_symbol_troubles_nobody_unless_it_goes() -> None:
    def state(*symbols: str, **more: Any) -> dict[str, Any]:
        return flight({"name": "state", "type": {"type": "enum", "name": "State", "symbols": symbols, **more}})

    came = difference(state("ON", "OFF"), state("ON", "GONE", default="ON"))
    assert charges(came) == {("/state", "symbol"): [("FORWARD", "MISSING_ENUM_SYMBOLS")]}
    assert [change.new for change in came.changes if change.breaks] == ["GONE"]
    went = difference(state("ON", "GONE", default="ON"), state("ON", "OFF"))
    assert charges(went) == {
        ("/state", "symbol"): [("BACKWARD", "MISSING_ENUM_SYMBOLS")],
        ("/state", "default symbol"): [("BACKWARD", "MISSING_ENUM_SYMBOLS")],
    }


def test_a_type_that_two_fields_share_changes_once() -> None:
    def legs(kind: str, first: str, second: str) -> dict[str, Any]:
        leg = {"type": "record", "name": "Leg", "fields": [{"name": "miles", "type": kind}]}
        return flight({"name": first, "type": leg}, {"name": second, "type": "Leg"})

    schema_diff = difference(legs("int", "out", "back"), legs("string", "back", "out"))
    assert [change[:3] for change in told(schema_diff)] == [
        ("changed", "type", "/out/miles"),
        ("changed", "order of fields", "/"),
    ]
    # The new schema meets the type at /back first, and says so; it is the same change.
    assert charges(schema_diff) == {("/out/miles", "type"): [("BACKWARD", "TYPE_MISMATCH"), ("FORWARD", "TYPE_MISMATCH")]}
    assert {item.incompatibility.path for item in schema_diff.breaks} == {"/back/miles", "/out/miles"}


def test_unions_and_what_is_in_them() -> None:
    inner = {"type": "record", "name": "Gate", "fields": [{"name": "no", "type": "int"}]}
    wider = {**inner, "fields": [*inner["fields"], {"name": "hall", "type": "string"}]}
    schema_diff = difference(
        flight({"name": "gate", "type": ["null", inner]}), flight({"name": "gate", "type": ["null", "string", wider]})
    )
    assert told(schema_diff) == [
        ("added", "field", "/gate/hall", None, "string"),
        ("added", "branch", "/gate", None, "string"),
    ]
    assert charges(schema_diff) == {
        ("/gate", "branch"): [("FORWARD", "MISSING_UNION_BRANCH")],
        ("/gate/hall", "field"): [("BACKWARD", "READER_FIELD_MISSING_DEFAULT_VALUE")],
    }
    made_optional = difference(flight({"name": "gate", "type": inner}), flight({"name": "gate", "type": ["null", wider]}))
    assert [change[1:3] for change in told(made_optional)] == [("type", "/gate"), ("field", "/gate/hall")]


def test_order_alone() -> None:
    schema_diff = difference(flight({"name": "a", "type": ["null", "int"]}), flight({"name": "a", "type": ["int", "null"]}))
    assert told(schema_diff) == [("changed", "order of branches", "/a", "null, int", "int, null")]
    assert schema_diff.breaks == ()


def test_json_keywords() -> None:
    old = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "a/b": {"$ref": "#/definitions/N"}},
        "required": ["id"],
    }
    new = {**old, "properties": {**old["properties"], "id": {"type": "integer", "maximum": 5, "title": "No"}}}  # type: ignore[dict-item]
    new["definitions"] = {"N": {"type": "string", "maxLength": 3}}
    new["required"] = ["id", "a/b"]
    schema_diff = difference({**old, "definitions": {"N": {"type": "string"}}}, new, "JSON")
    assert told(schema_diff) == [
        ("added", "maxLength", "/definitions/N/maxLength", None, "3"),
        ("added", "maximum", "/properties/id/maximum", None, "5"),
        ("added", "title", "/properties/id/title", None, '"No"'),
        ("added", "required", "/required/a~1b", None, '"a/b"'),
    ]
    assert charges(schema_diff) == {
        ("/definitions/N/maxLength", "maxLength"): [("BACKWARD", "MAX_LENGTH_ADDED")],
        ("/properties/id/maximum", "maximum"): [("BACKWARD", "MAXIMUM_ADDED")],
        ("/required/a~1b", "required"): [("BACKWARD", "REQUIRED_ATTRIBUTE_ADDED")],
    }


@pytest.mark.parametrize(
    ("old", "new", "guilty"),
    [
        ({"type": "string", "maxItems": 2}, {"type": ["integer", "string"], "maxItems": 3}, {"/type"}),
        ({"type": "string", "pattern": "a"}, {"const": 1, "pattern": "b"}, {"/type", "/const"}),
        (
            {"allOf": [{"type": "string"}], "properties": {"a": {"type": "string"}}},
            {"allOf": [{"type": "integer"}], "properties": {"a": {"type": "string", "maxLength": 3}}},
            {"/allOf/0/type"},
        ),
    ],
)
def test_rules_about_types_are_charged_to_what_says_types(
    old: dict[str, Any], new: dict[str, Any], guilty: set[str]
) -> None:
    schema_diff = difference(old, new, "JSON")
    assert {change.path for change in schema_diff.changes if change.breaks} == guilty
    assert len(schema_diff.changes) > len(guilty)


def test_json_null_is_not_nothing() -> None:
    schema_diff = difference({"default": None}, {"default": 1}, "JSON")
    assert told(schema_diff) == [("changed", "default", "/default", "null", "1")]
    assert told(difference({}, {"const": None}, "JSON")) == [("added", "const", "/const", None, "null")]
    assert told(difference({"const": True}, {"const": 1}, "JSON")) == [("changed", "const", "/const", "true", "1")]


def test_protobuf_fields_are_known_by_number() -> None:
    old = """syntax = "proto3"; package p;
        message Flight { int32 id = 1; string gate = 2; oneof at { string a = 3; string b = 4; } }
        enum State { UNKNOWN = 0; LATE = 1; }
        service Desk { rpc Find(Flight) returns (Flight); }"""
    new = """syntax = "proto3"; package p;
        message Flight { string id = 1; string door = 2; oneof at { string a = 3; } repeated int32 legs = 5; }
        enum State { UNKNOWN = 0; LATE = 1; GONE = 2; }
        service Desk { rpc Find(Flight) returns (stream Flight); }"""
    schema_diff = difference(old, new, "PROTOBUF")
    assert told(schema_diff) == [
        ("changed", "field", "/Flight/id", "int32 id = 1", "string id = 1"),
        ("changed", "field", "/Flight/door", "string gate = 2", "string door = 2"),
        ("removed", "field", "/Flight/b", "string b = 4 in oneof at", None),
        ("added", "field", "/Flight/legs", None, "repeated int32 legs = 5"),
        ("added", "value", "/State/GONE", None, "GONE = 2"),
        (
            "changed",
            "method",
            "/Desk/Find",
            "rpc Find (Flight) returns (Flight)",
            "rpc Find (Flight) returns (stream Flight)",
        ),
    ]
    scalar = "FIELD_SCALAR_KIND_CHANGED"
    assert charges(schema_diff) == {
        ("/Flight/id", "field"): [("BACKWARD", scalar), ("FORWARD", scalar)],
        ("/Flight/b", "field"): [("BACKWARD", "ONEOF_FIELD_REMOVED")],
        ("/Desk/Find", "method"): [("BACKWARD", "RPC_SIGNATURE_CHANGED"), ("FORWARD", "RPC_SIGNATURE_CHANGED")],
    }


def test_a_field_that_leaves_a_oneof_is_removed_from_it() -> None:
    old, new = (
        f'syntax = "proto3"; message M {{ {fields} }}'
        for fields in ("oneof at { string a = 1; string b = 2; string c = 3; }", "oneof at { string a = 1; } string b = 2;")
    )
    moved, gone = "FIELD_MOVED_TO_EXISTING_ONEOF", "ONEOF_FIELD_REMOVED"
    assert charges(difference(old, new, "PROTOBUF")) == {
        ("/M/b", "field"): [("BACKWARD", gone), ("FORWARD", moved)],
        ("/M/c", "field"): [("BACKWARD", gone)],
    }
    assert charges(difference(new, old, "PROTOBUF")) == {
        ("/M/b", "field"): [("BACKWARD", moved), ("FORWARD", gone)],
        ("/M/c", "field"): [("FORWARD", gone)],
    }


def test_a_rule_may_speak_of_a_field_by_its_old_name() -> None:
    texts = [f'syntax = "proto3"; message F {{ {field}; }}' for field in ("int32 gate = 1", "string door = 1")]
    old, new = texts
    schema_diff = difference(old, new, "PROTOBUF")
    kind = "FIELD_SCALAR_KIND_CHANGED"
    assert charges(schema_diff) == {("/F/door", "field"): [("BACKWARD", kind), ("FORWARD", kind)]}
    assert [item.incompatibility.path for item in schema_diff.breaks] == ["/F/door", "/F/gate"]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda claim: f"{claim.data_format}-{claim.line}-{claim.api}")
def test_the_pages_examples_are_charged_to_a_change(pair: Claim) -> None:
    rules, reader = APIS[pair.api], format_of(pair.data_format)
    old, new = (reader.parse(text, pair.references) for text in (pair.old, pair.new))
    schema_diff = compare(old, new, rules)
    assert (schema_diff.changes == ()) == (old.fingerprint == new.fingerprint)
    verdict = check(reader, CompatibilityMode.FULL, new, [(1, old)], rules)
    expected = {(item.direction, item.incompatibility) for item in verdict.conflicts}
    assert {(item.direction, item.incompatibility) for item in schema_diff.breaks} == expected
    # What an imported file says changed in no line of the two definitions themselves.
    assert not schema_diff.elsewhere or "import" in pair.new


@settings(max_examples=150, deadline=None)
@given(old=records(), new=records(), seed=st.integers(0, 99))
def test_avro_changes_are_there_exactly_where_the_meaning_differs(old: Any, new: Any, seed: int) -> None:
    first, second = parse(old), parse(new)
    schema_diff = compare(first, second)
    assert bool(schema_diff.changes) == (first.fingerprint != second.fingerprint)
    assert all(change.part != "definition" for change in schema_diff.changes)
    assert compare(first, parse(respelled(old, seed))).changes == ()
    mirrored = compare(second, first)
    assert sorted(
        (change.path, change.part, change.old or "", change.new or "") for change in schema_diff.changes
    ) == sorted((change.path, change.part, change.new or "", change.old or "") for change in mirrored.changes)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_json_changes_are_there_exactly_where_the_meaning_differs(seed: int) -> None:
    random = Random(seed)
    made = schema(random)
    definition = schema(random, 1)
    first, second = (parse(with_definitions(random, item, definition, 7), "JSON") for item in (made, edited(random, made)))
    schema_diff = compare(first, second)
    assert bool(schema_diff.changes) == (first.fingerprint != second.fingerprint)
    assert all(change.part != "definition" for change in schema_diff.changes)


def test_two_formats_have_nothing_to_compare() -> None:
    with pytest.raises(InvalidInput, match="The old schema is AVRO and the new one is JSON"):
        compare(parse('"int"'), parse("{}", "JSON"))
