"""Which type holds the values of two, by each system's rules."""

import pytest

from penstock.types import widening
from penstock.types.hive import parse, render
from penstock.types.model import INTEGERS
from penstock.types.widening import Rules, fits, widen

# The table's type, the new one, and what each set of rules makes of both.
COLUMNS = ("PARQUET", "LOSSLESS", "ICEBERG", "INSERT", "TEXT_PARTITIONS", "JSON_VALUES")
PAIRS = [
    ("int", "int", "int", "int", "int", "int", "int", "int"),
    ("int", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint"),
    ("bigint", "int", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint"),
    ("tinyint", "int", "int", "int", None, "int", "int", "string"),
    ("float", "double", "double", "double", "double", "double", "double", "string"),
    ("int", "double", "double", "double", None, "double", None, "double"),
    ("bigint", "double", None, None, None, "double", None, "double"),
    ("decimal(5,2)", "double", None, None, None, "double", None, "string"),
    ("decimal(5,2)", "decimal(7,2)", *["decimal(7,2)"] * 4, None, "decimal(7,2)"),
    ("decimal(5,2)", "decimal(7,4)", *["decimal(7,4)"] * 2, None, "decimal(7,4)", None, "decimal(7,4)"),
    ("decimal(38,0)", "decimal(38,10)", None, None, None, None, None, "string"),
    ("decimal(5,2)", "int", "decimal(12,2)", None, None, "decimal(12,2)", None, "string"),
    ("varchar(3)", "varchar(5)", None, "varchar(3)", None, "varchar(3)", None, "string"),
    ("string", "varchar(5)", None, "string", None, "string", "string", "string"),
    ("date", "timestamp", None, "timestamp", None, "timestamp", None, "string"),
    ("timestamp", "timestamp_ntz", None, "timestamp", None, None, None, "string"),
    ("boolean", "int", None, None, None, None, None, "string"),
    ("void", "struct<a:int>", *["struct<a:int>"] * 6),
    ("array<void>", "array<int>", *["array<int>"] * 6),
    ("array<int>", "int", None, None, None, None, None, "string"),
    ("map<int,string>", "map<bigint,void>", *["map<bigint,string>"] * 6),
    ("struct<a:int,b:date>", "struct<c:int>", *["struct<a:int,b:date,c:int>"] * 3, None, None, "struct<a:int,b:date,c:int>"),
    ("struct<a:int>", "struct<b:date>", *["struct<a:int,b:date>"] * 3, None, None, "struct<a:int,b:date>"),
    ("struct<a:int>", "struct<a:string>", None, None, None, None, None, "struct<a:string>"),
]  # fmt: skip


@pytest.mark.parametrize("rules", COLUMNS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]} {pair[1]}")
def test_the_type_for_two_is_what_the_rules_say(pair: tuple[str | None, ...], rules: str) -> None:
    old, new, expected = pair[0] or "", pair[1] or "", pair[2 + COLUMNS.index(rules)]
    common = widen(parse(old), parse(new), getattr(widening, rules))
    assert (None if common is None else render(common)) == expected


@pytest.mark.parametrize("rules", COLUMNS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]} {pair[1]}")
def test_a_type_for_two_holds_both(pair: tuple[str | None, ...], rules: str) -> None:
    named: Rules = getattr(widening, rules)
    old, new = parse(pair[0] or ""), parse(pair[1] or "")
    common = widen(old, new, named)
    if common is not None and common != named.otherwise:
        assert fits(old, common, named)
        assert fits(new, common, named)


def test_a_value_fits_a_wider_column_only() -> None:
    assert fits(parse("int"), parse("decimal(10,0)"), widening.INSERT)
    assert not fits(parse("bigint"), parse("decimal(10,0)"), widening.INSERT)
    assert not fits(parse("bigint"), parse("int"), widening.INSERT)
    assert fits(parse("struct<x:int>"), parse("struct<a:bigint>"), widening.INSERT)
    assert not fits(parse("struct<x:int>"), parse("struct<a:int,b:int>"), widening.INSERT)


@pytest.mark.parametrize(
    ("old", "wider"),
    [
        ("tinyint", {"smallint", "int", "bigint", "double"}),
        ("smallint", {"int", "bigint", "double"}),
        ("int", {"bigint", "double"}),
        ("bigint", set()),
        ("float", {"double"}),
        ("double", set()),
        ("decimal(5,2)", {"decimal(7,4)", "decimal(38,2)"}),
        ("date", {"timestamp_ntz"}),
        ("string", set()),
    ],
)
def test_delta_widens_what_its_page_says(old: str, wider: set[str]) -> None:
    numbers = (*INTEGERS, "float", "double", "decimal(7,4)", "decimal(38,2)", "decimal(6,4)")
    others = [*numbers, "string", "date", "timestamp", "timestamp_ntz"]
    assert {new for new in others if new != old and fits(parse(old), parse(new), widening.DELTA)} == wider
