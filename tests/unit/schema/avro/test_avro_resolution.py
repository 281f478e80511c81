"""Resolution rules one by one, and against fastavro's reader as the oracle on random pairs of schemas."""

import copy
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings

from penstock.schema.errors import TooComplex
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from tests.unit.schema.avro.avro_schemas import covering, schemas

AVRO = format_of("AVRO")


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: list[str] | None) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def found(reader: Any, writer: Any) -> list[tuple[str, str]]:
    parse = AVRO.parse
    return [
        (item.rule, item.path) for item in AVRO.readable(parse(json.dumps(reader)), parse(json.dumps(writer)), GLUE_RULES)
    ]


def enum(*symbols: str, name: str = "E", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


NULLABLE = ["null", "string"]
TREE = record(field("v", "int"), field("kids", {"type": "array", "items": "R"}))


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        ("long", "int", []),
        ("double", "long", []),
        ("int", "long", [("TYPE_MISMATCH", "/")]),
        ("bytes", "string", []),
        ("string", "bytes", []),
        (record(field("a", "int")), record(field("a", "int"), field("b", "int")), []),
        (
            record(field("a", "int"), field("b", "int")),
            record(field("a", "int")),
            [("READER_FIELD_MISSING_DEFAULT_VALUE", "/b")],
        ),
        (record(field("a", NULLABLE)), record(), [("READER_FIELD_MISSING_DEFAULT_VALUE", "/a")]),
        (record(field("a", NULLABLE, default=None)), record(), []),
        (record(field("a", "int", aliases=["old"])), record(field("old", "int")), []),
        (record(field("a", "int")), record(field("a", ["null", "int"])), [("TYPE_MISMATCH", "/a")]),
        (record(field("a", ["null", "int"])), record(field("a", "int")), []),
        (["null", "int"], ["null", "int", "string"], [("MISSING_UNION_BRANCH", "/")]),
        (["null", "long"], "int", []),
        (enum("A", "B"), enum("A"), []),
        (enum("A"), enum("A", "B"), [("MISSING_ENUM_SYMBOLS", "/")]),
        (enum("A", default="A"), enum("A", "B"), []),
        (enum("A"), enum("A", name="Other"), [("NAME_MISMATCH", "/")]),
        (enum("A"), enum("A", name="ns.E"), []),
        (enum("A", name="New", aliases=["ns.E"]), enum("A", name="ns.E"), []),
        (
            {"type": "fixed", "name": "F", "size": 2},
            {"type": "fixed", "name": "F", "size": 3},
            [("FIXED_SIZE_MISMATCH", "/")],
        ),
        # AWS accepts another name at the top; inside it counts.
        (record(name="New"), record(name="Old"), []),
        (record(field("r", record(name="New"))), record(field("r", record(name="Old"))), [("NAME_MISMATCH", "/r")]),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, [("TYPE_MISMATCH", "/items")]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "string"}, [("TYPE_MISMATCH", "/values")]),
        ({"type": "array", "items": "int"}, {"type": "map", "values": "int"}, [("TYPE_MISMATCH", "/")]),
        # The reason lies inside the optional record, so the finding does too.
        (
            record(field("o", ["null", record(field("x", "int"), name="S")])),
            record(field("o", ["null", record(field("x", "string"), name="S")])),
            [("TYPE_MISMATCH", "/o/x")],
        ),
        (TREE, TREE, []),
        (
            record(field("v", "string"), field("kids", {"type": "array", "items": "R"})),
            TREE,
            [("TYPE_MISMATCH", "/v")],
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
            [("TYPE_MISMATCH", "/")],
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            [],
        ),
    ],
)
def test_each_rule_names_its_place(reader: Any, writer: Any, expected: list[tuple[str, str]]) -> None:
    assert found(reader, writer) == expected


def test_findings_carry_both_sides_and_a_way_out() -> None:
    parse = AVRO.parse
    reader = parse(json.dumps(record(field("a", "int"), field("tail", "string"))))
    (finding,) = AVRO.readable(reader, parse(json.dumps(record(field("a", "int")))), GLUE_RULES)
    assert finding.path == "/tail"
    assert "tail" in finding.reader
    assert "R" in finding.writer
    assert "default" in finding.message


def test_a_wrong_guess_inside_a_cycle_does_not_survive() -> None:
    """S counts as readable while a.R is open. a.R breaks, which its union bears by way of b.R; S alone has no way out."""

    def holder(kind: str) -> dict[str, Any]:
        inner = record(field("r", ["null", "a.R"]), name="a.S")
        return record(field("s", inner), field("v", kind), name="a.R")

    other = record(field("v", "string"), name="b.R")
    writer = record(field("u", holder("string")), field("t", "a.S"), name="Top")
    reader = record(field("u", [holder("int"), other]), field("t", "a.S"), name="Top")
    assert [rule for rule, _ in found(reader, writer)] == ["TYPE_MISMATCH"]


def test_long_chains_of_names_need_no_stack() -> None:
    def chain(kind: str) -> list[dict[str, Any]]:
        links = [record(field("v", kind), name="N0")]
        links += [record(field("n", f"N{index}"), name=f"N{index + 1}") for index in range(1_800)]
        return links

    assert found(chain("int"), chain("int")) == []
    assert found(chain("int"), chain("string"))[0][0] == "TYPE_MISMATCH"


def test_comparisons_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.schema.avro.resolve._MAX_STEPS", 10)
    reader, writer = (record(*(field(f"f{index}", kind) for index in range(20))) for kind in ("long", "int"))
    with pytest.raises(TooComplex, match="too large to compare"):
        found(reader, writer)


def can_read(reader: Any, writer: Any) -> bool:
    """Whether fastavro reads every covering datum of ``writer`` with ``reader``."""
    ours, theirs = fastavro.parse_schema(copy.deepcopy(reader)), fastavro.parse_schema(copy.deepcopy(writer))
    for datum in covering(writer):
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, theirs, datum)
        buffer.seek(0)
        try:
            fastavro.schemaless_reader(buffer, theirs, ours)
        except Exception:  # noqa: BLE001 - whatever the oracle says no with
            return False
    return True


@settings(max_examples=150, deadline=None)
@given(writer=schemas(), reader=schemas())
def test_agrees_with_fastavro(writer: Any, reader: Any) -> None:
    assert (found(reader, writer) == []) == can_read(reader, writer)


@settings(max_examples=40, deadline=None)
@given(schema=schemas())
def test_every_schema_reads_itself(schema: Any) -> None:
    assert found(schema, schema) == []


def test_the_api_decides_whether_the_outermost_record_may_be_renamed() -> None:
    reader, writer = (AVRO.parse(json.dumps(record(name=name))) for name in ("New", "Old"))
    assert AVRO.readable(reader, writer, GLUE_RULES) == []
    assert [item.rule for item in AVRO.readable(reader, writer, CONFLUENT_RULES)] == ["NAME_MISMATCH"]
