"""Hive types of Arrow types, widening, exclusion patterns and table names."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.crawl.globs import exclusion
from penstock.crawl.infer import Problems, table_name
from penstock.crawl.types import hive_type, partition_type, widen
from penstock.errors import DataProblem, InvalidInput


@pytest.mark.parametrize(
    ("arrow", "hive"),
    [
        (pa.int8(), "tinyint"),
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float16(), "float"),
        (pa.float64(), "double"),
        (pa.bool_(), "boolean"),
        (pa.large_string(), "string"),
        (pa.binary(16), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("ns", "UTC"), "timestamp"),
        (pa.time32("ms"), "int"),
        (pa.time64("us"), "bigint"),
        (pa.decimal128(38, 3), "decimal(38,3)"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.list_(pa.list_(pa.int32())), "array<array<int>>"),
        (pa.map_(pa.string(), pa.struct([("X", pa.int8())])), "map<string,struct<x:tinyint>>"),
        (pa.null(), "string"),
    ],
)
def test_arrow_types_have_hive_types(arrow: pa.DataType, hive: str) -> None:
    assert hive_type(arrow) == hive


@pytest.mark.parametrize("arrow", [pa.decimal256(50, 2), pa.struct([("a:b", pa.int8())]), pa.month_day_nano_interval()])
def test_types_that_hive_cannot_hold_are_refused(arrow: pa.DataType) -> None:
    with pytest.raises(DataProblem):
        hive_type(arrow)


def test_nesting_is_bounded() -> None:
    deep = pa.int32()
    for _ in range(150):
        deep = pa.list_(deep)
    with pytest.raises(DataProblem, match="deeper than 64 levels"):
        hive_type(deep)


@pytest.mark.parametrize(
    ("first", "second", "wider"),
    [
        ("int", "bigint", "bigint"),
        ("smallint", "tinyint", "smallint"),
        ("float", "double", "double"),
        ("int", "double", "double"),
        ("bigint", "double", None),
        ("int", "float", None),
        ("string", "int", None),
        ("decimal(10,2)", "decimal(5,4)", "decimal(12,4)"),
        ("decimal(10,2)", "int", "decimal(12,2)"),
        ("decimal(38,2)", "decimal(38,4)", None),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("array<int>", "array<string>", None),
        ("struct<a:int>", "struct<b:string,a:bigint>", "struct<a:bigint,b:string>"),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("array<int>", "map<int,int>", None),
        ("struct<a:int", "struct<a:bigint>", None),
        ("array<" * 5000, "array<int>", None),
    ],
)
def test_types_widen_where_readers_follow(first: str, second: str, wider: str | None) -> None:
    assert widen(first, second) == wider


_TYPES = st.recursive(
    st.sampled_from(["tinyint", "int", "bigint", "float", "double", "string", "date", "decimal(10,2)"]),
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(inner, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
            lambda fields: f"struct<{','.join(f'{name}:{field}' for name, field in fields.items())}>"
        ),
    ),
    max_leaves=5,
)


@given(_TYPES, _TYPES)
def test_widening_is_stable(first: str, second: str) -> None:
    assert widen(first, first) == first
    wider = widen(first, second)
    if wider is not None:
        assert widen(wider, first) == wider
        assert widen(wider, second) == wider


@pytest.mark.parametrize(
    ("values", "hive"),
    [
        (["1", "-2147483648"], "int"),
        (["1", "2147483648"], "bigint"),
        (["9223372036854775808"], "string"),
        (["01"], "string"),
        (["-0"], "string"),
        (["2013-02-28"], "date"),
        (["2013-02-30"], "string"),
        (["2013-02-28", "1"], "string"),
        (["1.5"], "string"),
        ([], "string"),
    ],
)
def test_partition_values_have_types(values: list[str], hive: str) -> None:
    assert partition_type(values) == hive


@pytest.mark.parametrize(
    ("pattern", "key", "excluded"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "x/a.csv", False),
        ("**.csv", "x/y/a.csv", True),
        ("*.*", "a.b", True),
        ("dept*/**", "dept1/x/y", True),
        ("?.csv", "a.csv", True),
        ("?.csv", "/.csv", False),
        ("[ab]/*", "b/x", True),
        ("[!ab]/*", "b/x", False),
        ("[!ab]/*", "c/x", True),
        ("[a-c]x", "bx", True),
        ("{a,b*}/x", "bcd/x", True),
        ("a{1,{2,3}}", "a3", True),
        ("a.c", "abc", False),
        ("\\*x", "*x", True),
        ("a,b", "a,b", True),
    ],
)
def test_exclusions_are_glues_globs(pattern: str, key: str, excluded: bool) -> None:
    assert exclusion(["no/such/key", pattern])([key, "else"]) == [excluded, False]


@pytest.mark.parametrize("patterns", [["{a"], ["a" * 2000], ["x" * 10] * 200])
def test_hostile_exclusions_are_refused(patterns: list[str]) -> None:
    with pytest.raises(InvalidInput):
        exclusion(patterns)


def test_exclusions_with_many_stars_take_time_linear_in_the_key() -> None:
    excluded = exclusion(["*a" * 20 + "b", "{" + ",".join(["**a*a"] * 50) + "}b"])
    assert excluded(["a" * 1_000, "a" * 1_000 + "b"]) == [False, True]


def test_table_names_are_folded_and_kept_apart() -> None:
    assert table_name("s3://Lake/My Sales-2013/", "Raw_", []) == "raw_my_sales_2013"
    other = table_name("s3://lake/x/", "", ["x"])
    assert other.startswith("x_")
    assert other == table_name("s3://lake/x/", "", ["x"]) != table_name("s3://lake/y/x/", "", ["x"])
    assert len(table_name(f"s3://lake/{'x' * 300}/", "", ["x" * 128])) == 128


def test_problems_are_counted_and_bounded() -> None:
    problems = Problems()
    for _ in range(1000):
        problems.add("x" * 10_000)
    assert problems.count == 1000
    assert len(problems.sentences) == 100
    assert len(problems.sentences[0]) == 500
