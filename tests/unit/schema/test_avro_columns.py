"""Columns from Avro schemas: every type, every logical type, and what has no columns."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.schema.columns import HiveColumn
from penstock.schema.errors import NoColumns
from penstock.schema.formats import format_of
from penstock.types.hive import parse, render

AVRO = format_of("AVRO")


def hive(kind: Any, *, also: Any = ()) -> str:
    fields = [*also, {"name": "c", "type": kind}]
    return AVRO.columns(AVRO.parse(json.dumps({"type": "record", "name": "R", "fields": fields})))[-1].type


def logical(kind: str, logical_type: Any, /, **more: int | str) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


S = {"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("null", "void"),
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("bytes", "binary"),
        ("string", "string"),
        (logical("int", "date"), "date"),
        (logical("int", "time-millis"), "int"),
        (logical("long", "time-micros"), "bigint"),
        (logical("long", "timestamp-millis"), "timestamp"),
        (logical("long", "timestamp-micros"), "timestamp"),
        (logical("long", "local-timestamp-micros"), "timestamp"),
        (logical("string", "uuid"), "string"),
        (logical("bytes", "decimal", precision=10, scale=2), "decimal(10,2)"),
        (logical("bytes", "decimal", precision=10), "decimal(10,0)"),
        (logical("fixed", "decimal", name="F", size=8, precision=18, scale=4), "decimal(18,4)"),
        # Malformed logical types count as the plain type.
        (logical("fixed", "decimal", name="F", size=2, precision=9), "binary"),
        (logical("bytes", "decimal", precision=0), "binary"),
        (logical("bytes", "decimal", precision=39), "binary"),
        (logical("bytes", "decimal", precision=2, scale=3), "binary"),
        (logical("bytes", "decimal"), "binary"),
        (logical("string", "date"), "string"),
        (logical("int", ["date"]), "int"),
        ({"type": "fixed", "name": "F", "size": 3}, "binary"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string"),
        ({"type": "array", "items": "long"}, "array<bigint>"),
        ({"type": "map", "values": ["null", "double"]}, "map<string,double>"),
        (["null", "int"], "int"),
        (["null"], "void"),
        (["int", "long"], "bigint"),
        (["null", "float", "double"], "double"),
        (["null", "int", "string"], "struct<member0:int,member1:string>"),
        (S, "struct<x:int,y:string>"),
        ({"type": "array", "items": ["null", S]}, "array<struct<x:int,y:string>>"),
    ],
)
def test_types(kind: Any, expected: str) -> None:
    assert hive(kind) == expected


def test_named_types_are_resolved_where_they_are_used() -> None:
    assert hive("S", also=[{"name": "first", "type": S}]) == "struct<x:int,y:string>"


def test_names_order_and_comments() -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "B", "type": "int", "doc": "bees"}, {"name": "a", "type": "int"}],
        }
    )
    assert AVRO.columns(AVRO.parse(text)) == (
        HiveColumn(name="B", type="int", comment="bees"),
        HiveColumn(name="a", type="int", comment=None),
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (["null", "R"], "/c: record R contains itself"),
        ({"type": "record", "name": "E", "fields": []}, "/c: record E has no fields"),
    ],
)
def test_no_columns(kind: dict[str, Any] | list[str], reason: str) -> None:
    with pytest.raises(NoColumns, match=reason):
        hive(kind)


def test_the_top_is_a_record() -> None:
    with pytest.raises(NoColumns, match="not array of int"):
        AVRO.columns(AVRO.parse('{"type": "array", "items": "int"}'))


def test_types_that_double_at_each_level_are_refused_before_they_are_built() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "n0", "type": {"type": "record", "name": "N0", "fields": [{"name": "v", "type": "int"}]}}
    ]
    for level in range(1, 40):
        pair = [{"name": side, "type": f"N{level - 1}"} for side in "lr"]
        fields.append({"name": f"n{level}", "type": {"type": "record", "name": f"N{level}", "fields": pair}})
    with pytest.raises(NoColumns, match="131072"):
        AVRO.columns(AVRO.parse(json.dumps({"type": "record", "name": "R", "fields": fields})))


def test_long_chains_of_names_are_refused() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "n0", "type": {"type": "record", "name": "N0", "fields": [{"name": "v", "type": "int"}]}}
    ]
    for level in range(1, 1_500):
        inner = {"type": "record", "name": f"N{level}", "fields": [{"name": "n", "type": f"N{level - 1}"}]}
        fields.append({"name": f"n{level}", "type": inner})
    # A union of two puts the longest chain first in the walk, before any shorter one is known.
    holder = [fields[-1]["type"]["name"], "null"]
    schema = AVRO.parse(json.dumps({"type": "record", "name": "R", "fields": [*fields, {"name": "c", "type": holder}]}))
    tree = schema.tree
    root = replace(tree.root, fields=tree.root.fields[-1:])
    with pytest.raises(NoColumns, match="64 levels"):
        AVRO.columns(replace(schema, tree=replace(tree, root=root)))


def test_levels_that_named_types_add_up_to_are_refused_where_no_reader_follows() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "v", "type": {"type": "record", "name": "N0", "fields": [{"name": "v", "type": "int"}]}}
    ]
    for level in range(1, 70):
        inner = {"type": "record", "name": f"N{level}", "fields": [{"name": "n", "type": f"N{level - 1}"}]}
        fields.append({"name": f"n{level}", "type": inner})

    def column(levels: int) -> str:
        text = json.dumps({"type": "record", "name": "R", "fields": fields[:levels]})
        return AVRO.columns(AVRO.parse(text))[-1].type

    assert render(parse(column(64))) == column(64)
    with pytest.raises(NoColumns, match=r"/n64: .* nests deeper than 64 levels"):
        column(65)
