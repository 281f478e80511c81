"""What is a valid Avro definition, and what the refusal of an invalid one says."""

import json
from typing import Any

import pytest

from penstock.schema.errors import FormatNotServed, InvalidSchema
from penstock.schema.formats import format_of

AVRO = format_of("AVRO")


def record(*fields: Any, **more: str) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields), **more})


def with_default(kind: Any, default: Any) -> str:
    return record({"name": "a", "type": kind, "default": default})


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", None, "not JSON"),
        ("{", None, "not JSON"),
        ("string", None, "not JSON"),
        ("12", "/", "the number 12 is not a type"),
        ("null", "/", "null is not a type"),
        ('{"type": "int", "type": "long"}', None, "'type' occurs twice"),
        ('{"type": "int", "x": NaN}', None, "NaN"),
        ('{"type": "int", "x": 1e999}', None, "out of the range of a double"),
        ('{"type": "int", "x": ' + "9" * 5000 + "}", None, "cannot be read"),
        ('"\ud800"', None, "surrogate"),
        ('"strin"', "/", "'strin' is neither"),
        ("{}", "/", "no 'type'"),
        ('{"type": {"type": "int"}}', "/type", "must be a name"),
        ("[]", "/", "no branches"),
        ('["int", "int"]', "/1", "twice"),
        ('["int", ["string"]]', "/1", "directly inside a union"),
        ('{"type": "array"}', "/", "no 'items'"),
        ('{"type": "map"}', "/", "no 'values'"),
        ('{"type": "record", "name": "R"}', "/", "no 'fields'"),
        ('{"type": "record", "fields": []}', "/", "no 'name'"),
        ('{"type": "record", "name": "R", "fields": {}}', "/fields", "must be a list"),
        ('{"type": "record", "name": "1R", "fields": []}', "/name", "is not a valid type name"),
        ('{"type": "record", "name": "a..R", "fields": []}', "/name", "is not a valid type name"),
        ('{"type": "record", "name": "int", "fields": []}', "/name", "a primitive type"),
        ('{"type": "record", "name": "R", "namespace": "a b", "fields": []}', "/namespace", "namespace"),
        ('{"type": "record", "name": "R", "doc": 1, "fields": []}', "/doc", "must be a string"),
        ('{"type": "record", "name": "R", "aliases": "x", "fields": []}', "/aliases", "list of names"),
        (record("a"), "/fields/0", "must be an object"),
        (record({"name": "a"}), "/fields/0", "no 'type'"),
        (record({"type": "int"}), "/fields/0", "no 'name'"),
        (record({"name": "a-b", "type": "int"}), "/fields/0/name", "is not a valid field name"),
        (record({"name": "a", "type": "int", "order": "up"}), "/fields/0/order", "is not a sort order"),
        (record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}), "/fields/1", "'a' twice"),
        (record({"name": "a", "type": "Later"}), "/fields/0/type", "defined before"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', "/symbols/1", "'A' twice"),
        ('{"type": "enum", "name": "E", "symbols": ["A-B"]}', "/symbols/0", "is not a valid symbol"),
        ('{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}', "/default", "not among the symbols"),
        ('{"type": "fixed", "name": "F", "size": -1}', "/size", "whole number"),
        ('{"type": "fixed", "name": "F", "size": true}', "/size", "whole number"),
        ('{"type": "fixed", "name": "F", "size": 4294967296}', "/size", "whole number"),
        (
            '[{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}]',
            "/1/name",
            "defined twice",
        ),
        (with_default("int", "1"), "/fields/0/default", "32 bits"),
        (with_default("int", 2**31), "/fields/0/default", "32 bits"),
        (with_default("int", 1.0), "/fields/0/default", "32 bits"),
        (with_default("long", True), "/fields/0/default", "64 bits"),
        (with_default("double", "one"), "/fields/0/default", "a number"),
        (with_default("boolean", 0), "/fields/0/default", "true or false"),
        (with_default("string", None), "/fields/0/default", "is not a string"),
        (with_default("bytes", "\u0100"), "/fields/0/default", "U+00FF"),
        (with_default(["string", "null"], None), "/fields/0/default", "put that branch first"),
        (with_default(["string", "null"], 1), "/fields/0/default", "is not a string"),
        (with_default({"type": "array", "items": "int"}, [1, "x"]), "/fields/0/default", "32 bits"),
        (with_default({"type": "map", "values": "int"}, []), "/fields/0/default", "not an object"),
        (with_default({"type": "enum", "name": "E", "symbols": ["A"]}, "B"), "/fields/0/default", "symbols"),
        (with_default({"type": "fixed", "name": "F", "size": 2}, "x"), "/fields/0/default", "1 bytes, not 2"),
        (
            with_default({"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]}, {}),
            "/fields/0/default",
            "'x' is missing",
        ),
        # A default of a type that is still open where it stands.
        (
            record(
                {"name": "s", "type": {"type": "record", "name": "S", "fields": [{"name": "r", "type": "R", "default": 5}]}}
            ),
            "/fields/0/type/fields/0/default",
            "not an object",
        ),
    ],
)
def test_refusals_say_where_and_why(text: str, place: str | None, reason: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        AVRO.parse(text)
    assert reason in str(refusal.value)
    if place is not None:
        assert refusal.value.path == place


@pytest.mark.parametrize(
    "text",
    [
        '"string"',
        '{"type": "long", "logicalType": "made-up", "precision": []}',
        '{"type": "enum", "name": "E", "symbols": []}',
        '["null", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}]',
        '[{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "G", "size": 1}]',
        record({"name": "next", "type": ["null", "R"], "default": None}),
        record({"name": "kids", "type": {"type": "array", "items": "R"}, "default": [{"kids": []}]}),
        record({"name": "a", "type": {"type": "enum", "name": "x.E", "symbols": ["A"]}}, {"name": "b", "type": "x.E"}),
        record(
            {"name": "a", "type": {"type": "fixed", "name": "F", "size": 1}}, {"name": "b", "type": "n.F"}, namespace="n"
        ),
        with_default("double", "NaN"),
        with_default("float", 1),
        with_default(["null", "string"], None),
        '{"type": "error", "name": "Oops", "fields": []}',
    ],
)
def test_valid_definitions_are_taken(text: str) -> None:
    assert AVRO.parse(AVRO.parse(text).canonical).canonical == AVRO.parse(text).canonical


def nested(levels: int) -> str:
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


def test_depth_is_bounded_at_every_size() -> None:
    AVRO.parse(nested(60))
    for levels in (65, 150, 199, 201, 5_000):
        with pytest.raises(InvalidSchema, match="nest"):
            AVRO.parse(nested(levels))
    with pytest.raises(InvalidSchema, match="nest"):
        AVRO.parse("[" * 100_000)


def test_deep_properties_and_defaults_stay_within_the_stack() -> None:
    deep = "[" * 190 + "]" * 190
    AVRO.parse(f'{{"type": "int", "x": {deep}}}')
    kids: list[Any] = []
    for _ in range(60):
        kids = [{"kids": kids}]
    AVRO.parse(record({"name": "kids", "type": {"type": "array", "items": "R"}, "default": kids}))


def test_size_is_bounded() -> None:
    text = json.dumps({"type": "int", "doc": "x" * 170_000})
    with pytest.raises(InvalidSchema, match="170000"):
        AVRO.parse(text)


def test_brackets_in_text_are_no_nesting() -> None:
    AVRO.parse(json.dumps({"type": "int", "note": '[{"' * 1_000}))


def test_formats_that_are_not_served() -> None:
    with pytest.raises(FormatNotServed, match="XML"):
        format_of("XML")


def test_fields_at_the_top() -> None:
    schema = AVRO.parse(
        record({"name": "a", "type": "int", "doc": "A"}, {"name": "b", "type": ["null", "string"], "default": None})
    )
    assert [(item.name, item.type, item.doc, item.required) for item in AVRO.fields(schema)] == [
        ("a", "int", "A", True),
        ("b", "union of null, string", None, False),
    ]
    assert AVRO.fields(AVRO.parse('"int"')) == ()
