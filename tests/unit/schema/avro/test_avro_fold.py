"""Folds: every type once and by its full name, records inside themselves, and where the walk is."""

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.schema.avro.fold import Fold, types_within
from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
    describe,
)
from penstock.schema.avro.parse import parse_registered
from penstock.serdes.avro.lossless import FAULTS, compile_guard


class Written(Fold[str]):
    """Each type in brackets with where it was met; ``visited`` are the named types in their order."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(schema)
        self.visited: list[str] = []

    def primitive(self, kind: PrimitiveType) -> str:
        return f"{kind.name}@{self.path}"

    def enum(self, kind: EnumType) -> str:
        self.visited.append(kind.name)
        return kind.name

    def fixed(self, kind: FixedType) -> str:
        self.visited.append(kind.name)
        return kind.name

    def array(self, kind: ArrayType, items: str) -> str:
        return f"[{items}]"

    def map(self, kind: MapType, values: str) -> str:
        return f"<{values}>"

    def union(self, kind: UnionType, branches: Sequence[str]) -> str:
        return "|".join(branches)

    def record(self, kind: RecordType, fields: Sequence[str]) -> str:
        self.visited.append(f"{kind.name} in {self.enclosing}")
        return f"{kind.name}({', '.join(fields)})"

    def recursive(self, kind: RecordType) -> str:
        return f"{kind.name} again"


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields.items()]}


def test_a_fold_visits_each_named_type_once_by_its_full_name() -> None:
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    fold = Written(parse_registered(record("n.R", a=record("E", x="int"), b={**enum, "name": "m.E"}, c="E", d="m.E")))
    assert fold.root() == "n.R(n.E(int@/a/x), m.E, n.E(int@/a/x), m.E)"
    assert fold.visited == ["n.E in n.R", "m.E", "n.R in None"]


def test_paths_name_fields_items_and_values_and_pass_over_unions() -> None:
    kind = ["null", {"type": "array", "items": {"type": "map", "values": record("I", x=["long"])}}]
    assert Written(parse_registered(record("R", a=kind))).root() == "R(null@/a|[<I(long@/a/items/values/x)>])"


def test_a_record_inside_itself_ends_the_walk() -> None:
    fold = Written(parse_registered(record("R", next=["null", "R"], other=record("S", back="R"))))
    assert fold.root() == "R(null@/next|R again, S(R again))"
    assert fold.result_of("S") == "S(R again)"


def test_types_below_the_bound_are_refused() -> None:
    deep: Any = "int"
    for _ in range(301):
        deep = {"type": "array", "items": deep}
    with pytest.raises(RecursionError, match="more than 300 levels"):
        Written(parse_registered(deep, max_depth=400)).root()


def test_types_within_follow_references_and_end() -> None:
    schema = parse_registered(record("R", a=["null", "R"], b=record("S", c={"type": "map", "values": "bytes"}), d="S"))
    results = sorted(describe(kind) for kind in types_within(schema, schema.root))
    assert results == ["bytes", "map of bytes", "null", "record R", "record S", "union of null, R"]


def test_what_a_record_inside_another_refers_back_to_is_guarded() -> None:
    # Of B's parts only A can be changed, and A is not complete when B is compiled.
    schema = parse_registered(record("A", b=["null", record("B", a=["null", "A"])], x="float"))
    guard = compile_guard(schema)
    assert guard is not None
    good: dict[str, Any] = {"b": {"a": {"b": None, "x": 1.5}}, "x": 2.5}
    guard(good)
    good["b"]["a"]["x"] = 1e300
    with pytest.raises(FAULTS):
        guard(good)


def test_a_recursive_record_without_anything_to_guard_is_not_walked() -> None:
    tree = record("T", text="string", kids={"type": "array", "items": "T"})
    assert compile_guard(parse_registered(tree)) is None


@pytest.mark.parametrize(
    ("kind", "digits"),
    [
        ({"type": "bytes", "precision": 5, "scale": 2}, (5, 2)),
        ({"type": "fixed", "name": "F", "size": 2, "precision": 4}, (4, 0)),
        ({"type": "fixed", "name": "F", "size": 2, "precision": 5}, None),
        ({"type": "bytes", "precision": 2, "scale": 5}, None),
        ({"type": "int", "precision": 5}, None),
    ],
)
def test_an_invalid_decimal_is_its_plain_type(kind: dict[str, Any], digits: tuple[int, int] | None) -> None:
    made = parse_registered({**kind, "logicalType": "decimal"}).root
    assert decimal_digits(made) == digits
    assert logical_type(made) == (None if digits is None else "decimal")
