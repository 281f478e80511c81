"""Definitions that build on others: their types are known, the canonical text stands on its own, conflicts are refused."""

import json
from typing import Any

import fastavro
import pytest

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES

AVRO = format_of("AVRO")

MONEY = {
    "type": "record",
    "name": "common.Money",
    "fields": [
        {"name": "amount", "type": "long"},
        {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR"]}},
    ],
}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [{"name": "total", "type": "common.Money"}, {"name": "currency", "type": "common.Currency"}],
}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def refer(*definitions: Any) -> list[ReferencedText]:
    return [ReferencedText(name=one["name"], text=json.dumps(one)) for one in definitions]


def test_a_type_of_another_definition_is_written_where_it_is_first_used() -> None:
    schema = AVRO.parse(json.dumps(ORDER), refer(MONEY))
    inlined = {**ORDER, "fields": [{"name": "total", "type": MONEY}, {"name": "currency", "type": "common.Currency"}]}
    assert schema.canonical == AVRO.parse(json.dumps(inlined)).canonical
    assert schema.fingerprint == AVRO.parse(json.dumps(inlined)).fingerprint
    named: dict[str, Any] = {}
    fastavro.parse_schema(MONEY, named)
    fastavro.parse_schema(ORDER, named)
    parsed: Any = fastavro.parse_schema(json.loads(schema.canonical))
    assert parsed["name"] == "shop.Order"


def test_an_inner_type_may_be_used_before_the_one_that_defines_it() -> None:
    order = record("shop.Order", currency="common.Currency", total="common.Money")
    schema = AVRO.parse(json.dumps(order), refer(MONEY))
    fields = json.loads(schema.canonical)["fields"]
    assert [field["name"] for field in fields] == ["currency", "total"]
    assert fields[0]["type"]["symbols"] == ["EUR"]
    assert fields[1]["type"]["fields"][1]["type"] == "common.Currency"
    assert AVRO.parse(schema.canonical).canonical == schema.canonical


def test_a_chain_and_a_diamond() -> None:
    base, left, right = record("n.Base", x="int"), record("n.Left", b="Base"), record("n.Right", b="n.Base")
    top = json.dumps(record("n.Top", l="Left", r="Right"))
    schema = AVRO.parse(top, refer(base, left, base, right))
    assert schema.canonical.count('"fields"') == 4
    assert AVRO.parse(schema.canonical).canonical == schema.canonical
    assert AVRO.readable(schema, AVRO.parse(schema.canonical), GLUE_RULES) == []


def test_unused_references_change_nothing() -> None:
    text = json.dumps(record("R", x="int"))
    assert AVRO.parse(text, refer(MONEY)).fingerprint == AVRO.parse(text).fingerprint


def test_a_change_in_a_reference_is_another_schema_and_is_compared() -> None:
    changed = json.loads(json.dumps(MONEY).replace("long", "string"))
    old, new = (AVRO.parse(json.dumps(ORDER), refer(money)) for money in (MONEY, changed))
    assert old.fingerprint != new.fingerprint
    assert [(item.rule, item.path) for item in AVRO.readable(new, old, GLUE_RULES)] == [("TYPE_MISMATCH", "/total/amount")]


def test_a_recursive_type_can_be_referred_to() -> None:
    node = {**record("n.Node", kids={"type": "array", "items": "n.Node"})}
    schema = AVRO.parse(json.dumps(record("n.Tree", root="Node", spare="Node")), refer(node))
    assert AVRO.parse(schema.canonical).canonical == schema.canonical
    assert AVRO.readable(schema, schema, GLUE_RULES) == []


def test_columns_of_a_referenced_type() -> None:
    schema = AVRO.parse(json.dumps(ORDER), refer(MONEY))
    assert [column.type for column in AVRO.columns(schema)] == ["struct<amount:bigint,currency:string>", "string"]


def test_defaults_of_a_referenced_type_are_checked() -> None:
    order = {**ORDER, "fields": [{"name": "total", "type": "common.Money", "default": {"amount": "much"}}]}
    with pytest.raises(InvalidSchema, match="field 'amount'") as refusal:
        AVRO.parse(json.dumps(order), refer(MONEY))
    assert refusal.value.path == "/fields/0/default"


@pytest.mark.parametrize(
    ("definition", "references", "reason"),
    [
        pytest.param(ORDER, [], "'common.Money' is neither", id="not given"),
        pytest.param(MONEY, [ORDER, MONEY], "'shop.Order' cannot be used.*'common.Money' is neither", id="wrong order"),
        pytest.param(
            {**MONEY, "fields": []}, [MONEY], "At /: the type 'common.Money' is defined differently", id="conflict"
        ),
        pytest.param(
            ORDER,
            [MONEY, record("common.Money", x="int")],
            "'common.Money' cannot be used.*differently",
            id="two references",
        ),
        pytest.param(ORDER, [record("common.Money", x="nothing")], "'common.Money' cannot be used", id="invalid reference"),
        pytest.param(record("a.A", b="a.B"), [record("a.B", a="a.A")], "'a.B' cannot be used", id="cycle"),
    ],
)
def test_refusals(definition: Any, references: list[Any], reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        AVRO.parse(json.dumps(definition), refer(*references))


def test_the_same_type_may_be_defined_again() -> None:
    again = record("shop.Order", total={**MONEY, "namespace": "ignored"})
    schema = AVRO.parse(json.dumps(again), refer(MONEY))
    assert schema.canonical == AVRO.parse(json.dumps(again)).canonical


def test_references_do_not_nest_without_end() -> None:
    chain = [record("n.T0", x="int"), *(record(f"n.T{index}", x=f"T{index - 1}") for index in range(1, 200))]
    assert AVRO.parse(json.dumps(chain[50]), refer(*chain[:50]))
    with pytest.raises(InvalidSchema, match="including those of referenced schemas"):
        AVRO.parse(json.dumps(chain[199]), refer(*chain[:199]))


def test_a_bare_name_that_means_another_type_in_one_text_is_refused() -> None:
    plain, order = record("F", x="int"), record("n.Order", f="F", again="F")
    local = {"type": "record", "name": "n.F", "fields": []}
    top = json.dumps({"type": "record", "name": "n.Top", "fields": [
        {"name": "own", "type": local}, {"name": "order", "type": "n.Order"}
    ]})  # fmt: skip
    with pytest.raises(InvalidSchema, match="has another meaning"):
        AVRO.parse(top, refer(plain, order))
    full = record("n.Order", f="m.F", again="m.F")
    assert AVRO.parse(top, refer(record("m.F", x="int"), full)).canonical.count('"name":"m.F"') == 1


def test_together_they_may_be_longer_than_one_definition() -> None:
    parts = [{**record(f"n.T{index}", x="int"), "doc": "x" * 100_000} for index in range(3)]
    schema = AVRO.parse(json.dumps(record("n.Top", a="T0", b="T1", c="T2")), refer(*parts))
    assert len(schema.canonical) > 300_000
