"""Types from Hive through the engine to Athena, and values as Trino prints them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.query.results.values import texts
from penstock.sql.engine_types import result_column
from penstock.sql.errors import StatementError
from penstock.sql.functions.python import by_row
from penstock.sql.types import duckdb_type

PRIMITIVES = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "float",
    "double": "double",
    "string": "varchar",
    "varchar(10)": "varchar",
    "char(3)": "varchar",
    "binary": "varbinary",
    "date": "date",
    "timestamp": "timestamp",
    "decimal(38,9)": "decimal",
}
NAMES = st.text("abcxyz_ 0123é'\"", min_size=1).filter(lambda name: name.strip() == name)
HIVE = st.recursive(
    st.sampled_from(sorted(PRIMITIVES)),
    lambda inner: st.one_of(
        inner.map(lambda type_: f"array<{type_}>"),
        inner.map(lambda type_: f"map<string, {type_}>"),
        st.lists(st.tuples(NAMES, inner), min_size=1, max_size=3, unique_by=lambda tuple_: tuple_[0].lower()).map(
            lambda fields: f"struct<{','.join(f'{name}:{type_}' for name, type_ in fields)}>"
        ),
    ),
    max_leaves=6,
)
NESTED = {"array": "array", "map": "map", "struct": "row"}


@settings(deadline=None)
@given(HIVE)
def test_every_hive_type_is_read_by_the_engine_and_named_by_athena(hive: str) -> None:
    with duckdb.connect(":memory:") as connection:
        relation = connection.sql(f"SELECT CAST(NULL AS {duckdb_type(hive)}) AS x")
        column = result_column("x", relation.types[0])
    outer = hive.split("<", maxsplit=1)[0]
    assert column.type == (NESTED[outer] if "<" in hive else PRIMITIVES[hive])
    assert (column.precision, column.scale) == (38, 9) or column.type != "decimal"


WRONG = ["", "array<", "array<int", "map<int>", "struct<int>", "struct<>", "uniontype<int>", "int)", "decimal(50,2)"]


@pytest.mark.parametrize("wrong", [*WRONG, "decimal(2,5)", "int; DROP", "array<" * 100 + "int" + ">" * 100])
def test_an_invalid_type_is_refused(wrong: str) -> None:
    with pytest.raises(StatementError, match="HIVE_INVALID_METADATA"):
        duckdb_type(wrong)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_keep_their_value_and_javas_form(value: float) -> None:
    (text,) = texts(pa.array([value]))
    assert text is not None
    assert float(text) == value
    mantissa = text.lstrip("-").split("E", maxsplit=1)[0]
    assert "." in mantissa
    assert ("E" in text) == (value != 0 and not 1e-3 <= abs(value) < 1e7)


@settings(deadline=None)
@given(st.decimals(min_value=-(10**20), max_value=10**20, places=10, allow_nan=False))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    (text,) = texts(pa.array([value], pa.decimal128(38, 10)))
    assert text is not None
    assert "E" not in text
    assert text == f"{value:.10f}"


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 30)))
def test_timestamps_are_rounded_to_milliseconds(value: datetime) -> None:
    (plain,) = texts(pa.array([value], pa.timestamp("us")))
    rounded = value + timedelta(microseconds=500)
    assert plain == f"{rounded.date().isoformat()} {rounded:%H:%M:%S}.{rounded.microsecond // 1000:03}"
    (zoned,) = texts(pa.array([value.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")))
    assert zoned == f"{plain} UTC"


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(-9, 9)), max_size=3)), max_size=5),
    st.integers(0, 5),
)
def test_lists_print_alike_however_the_array_is_sliced(values: list[list[int | None] | None], start: int) -> None:
    column = pa.array(values, pa.list_(pa.int32())).slice(min(start, len(values)))
    expected = [
        None if entry is None else "[" + ", ".join("null" if item is None else str(item) for item in entry) + "]"
        for entry in values[start:]
    ]
    assert list(texts(column)) == expected


def test_special_values() -> None:
    assert texts(pa.array([float("nan"), float("inf"), -float("inf"), -0.0])) == ["NaN", "Infinity", "-Infinity", "-0.0"]
    assert texts(pa.array([0.1], pa.float32())) == ["0.1"]
    assert texts(pa.array([{"a": None, "b": [{"c": b"\x01\xff"}]}, None])) == ["{a=null, b=[{c=01 ff}]}", None]


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("TIMESTAMP", datetime(2013, 5, 7, 1, 2, 3, 456789)),
        ('STRUCT("$utc" TIMESTAMP, "$zone" VARCHAR)', {"$utc": datetime(2013, 5, 7), "$zone": "UTC"}),
        ("DECIMAL(38,0)", Decimal(10) ** 37),
        ("MAP(VARCHAR, VARCHAR[])", [("a", ["b"])]),
    ],
)
def test_functions_by_row_return_the_engines_types(returns: str, value: object) -> None:
    function = by_row("trino_test", ["BIGINT"], returns, lambda _: value)
    assert function.function(pa.array([1, None])).to_pylist() == [value, None]


def test_functions_by_row_need_a_type_of_trinos() -> None:
    with pytest.raises(TypeError, match="trino_test returns HUGEINT"):
        by_row("trino_test", ["BIGINT"], "HUGEINT", lambda value: value)
