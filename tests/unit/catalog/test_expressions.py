"""Partition expressions: the grammar, and their results compared with DuckDB's."""

from datetime import date, datetime

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.catalog.model import Column
from penstock.catalog.partitions.expressions import PartitionExpression
from penstock.errors import InvalidInput

KEYS = (
    Column(name="s", type="string"),
    Column(name="i", type="int"),
    Column(name="n", type="decimal(10,2)"),
    Column(name="d", type="date"),
    Column(name="t", type="timestamp"),
)
NULL = "__HIVE_DEFAULT_PARTITION__"
ROW = ("JFK", "2013", "1.50", "2013-01-31", "2013-01-31 05:17:00")


def matches(text: str, row: tuple[str, ...] = ROW) -> bool:
    return PartitionExpression.parse(text, KEYS).matches(row)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "s = 'JFK'",
        's = "JFK"',
        '"s" = "JFK"',
        "`s` = 'JFK'",
        "S = 'JFK'",
        "i = 2013",
        "i = '2013'",
        "i == 2013.0",
        "2013 = i",
        "i<>2012 and i!=2014",
        "i >= 2013 AND i <= 2013 AND i > -5 AND i < 1e4",
        "n = 1.5",
        "d = '2013-01-31'",
        "d = date '2013-01-31'",
        "d between '2013-01-01' and '2013-02-01' and i = 2013",
        "t > timestamp '2013-01-31 05:16:59.999'",
        "t < '2013-02-01 00:00:00'",
        "NOT (s = 'EWR' OR i = 1)",
        "not not s = 'JFK'",
        "s in ('EWR', 'JFK')",
        "s NOT IN ('EWR')",
        "i in (1, '2013')",
        "s like 'J%'",
        "s like '_F_' and s like 'JFK' and s not like '%f%' and s like '%%'",
        "s is not null",
        "not s is null",
        "s = 'x' or s = 'y' and i = 1 or i = 2013",
        "((((s = 'JFK'))))",
    ],
)
def test_expressions_that_match(text: str) -> None:
    assert matches(text)


@pytest.mark.parametrize(
    "text",
    ["s = 'jfk'", "i = 2012", "s like 'F%'", "s like 'J'", "s is null", "d < '2013-01-31'", "s in ('x')", "n <> 1.50"],
)
def test_expressions_that_do_not_match(text: str) -> None:
    assert not matches(text)


def test_quotes_within_literals() -> None:
    assert matches("s = 'O''Hare'", ("O'Hare", *ROW[1:]))
    assert matches('s = "a""b"', ('a"b', *ROW[1:]))


@pytest.mark.parametrize("text", ["i = 1", "i <> 1", "not i = 1", "i in (1)", "i not in (1)", "i between 1 and 2", "i = i"])
def test_a_comparison_with_null_is_neither_true_nor_false(text: str) -> None:
    row = ("JFK", NULL, *ROW[2:])
    assert not matches(text, row)
    assert matches(f"i is null and not s is null or {text}", row)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s =", "where it ends at character 4"),
        ("s = 'x", "cannot be read at character 5"),
        ("s ~ 'x'", "cannot be read at character 3"),
        ("= 1", "a partition key or a literal is expected where '=' stands at character 1"),
        ("x = 1", "'x' is not a partition key; the table's are: s, i, n, d, t"),
        ("s = 'a' s = 'b'", "an operator or the end is expected where 's' stands at character 9"),
        ("(s = 'a'", r"'\)' is expected"),
        ("s in ()", "a partition key or a literal"),
        ("s between 'a'", "'AND' is expected"),
        ("s", "a comparison, BETWEEN, IN, LIKE or IS NULL is expected"),
        ("s is 1", "'NULL' is expected"),
        ("i = 'abc'", "'abc' is not a value of partition key i, which is an integer"),
        ("i = 1.5", "'1.5' is not a value"),
        ("d = '2013-02-30'", "not a value of partition key d"),
        ("d = 20130101", "not a value of partition key d"),
        ("i like '1%'", "LIKE takes a key of type string"),
        ("1 = 1", "compares two literals"),
        ("s = i", "s is a string and i an integer"),
        ("(" * 200 + "s = 'a'" + ")" * 200, "nested more than 100 levels"),
        ("NOT " * 200 + "s = 'a'", "nested more than 100 levels"),
        ("s = 'a'; drop table x", "cannot be read at character 8"),
    ],
)
def test_errors_have_reason_and_position(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PartitionExpression.parse(text, KEYS)


def test_the_length_of_an_expression_has_awss_limit() -> None:
    assert matches("i = 2013" + " " * 2_040)
    with pytest.raises(InvalidInput, match="2,049 characters long, more than 2,048"):
        matches("i = 2013" + " " * 2_041)


def test_a_type_that_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidInput, match="key f is a double"):
        PartitionExpression.parse("f = 1", [Column(name="f", type="double")])
    assert PartitionExpression.parse("g = 'x'", [Column(name="f", type="double"), Column(name="g")]).matches(("1", "x"))


def test_a_stored_value_of_another_type_is_an_error_not_a_gap() -> None:
    with pytest.raises(InvalidInput, match="has 'abc' for i, which is an integer"):
        matches("i > 1", ("JFK", "abc", *ROW[2:]))


def test_like_stays_fast_on_hostile_patterns() -> None:
    assert not matches("s like '" + "%a" * 500 + "b'", ("a" * 5000, *ROW[1:]))


_STRINGS = st.text("ab_%'J", max_size=4)
_INTEGERS = st.integers(-3, 3)
_DATES = st.dates(date(2013, 1, 1), date(2013, 1, 4))
_TIMES = st.datetimes(datetime(2013, 1, 1), datetime(2013, 1, 2)).map(lambda time: time.replace(microsecond=0))
_DECIMALS = st.decimals(-2, 2, places=1)


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


_LITERALS = {
    "s": _STRINGS.map(_quoted),
    "i": _INTEGERS.map(str) | _INTEGERS.map(_quoted),
    "n": _DECIMALS.map(str),
    "d": _DATES.map(_quoted) | _DATES.map(lambda day: f"date '{day}'"),
    "t": _TIMES.map(_quoted) | _TIMES.map(lambda time: f"timestamp '{time}'"),
}


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    key = draw(st.sampled_from(sorted(_LITERALS)))
    literal = _LITERALS[key]
    negated = draw(st.sampled_from(["", "NOT "]))
    form = draw(st.sampled_from(["compare", "swap", "between", "in", "null", "like"]))
    operator = draw(st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="]))
    if form == "compare":
        return f"{key} {operator} {draw(literal)}"
    if form == "swap":
        return f"{draw(literal)} {operator} {key}"
    if form == "between":
        return f"{key} {negated}BETWEEN {draw(literal)} AND {draw(literal)}"
    if form == "in":
        return f"{key} {negated}IN ({', '.join(draw(st.lists(literal, min_size=1, max_size=3)))})"
    if form == "like":
        return f"s {negated}LIKE {draw(_LITERALS['s'])}"
    return f"{key} IS {negated}NULL"


EXPRESSIONS = st.recursive(
    comparisons(),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join)
        | inner.map(lambda text: f"({text})")
        | inner.map(lambda text: f"NOT ({text})")
    ),
    max_leaves=6,
)
ROWS = st.lists(
    st.tuples(
        st.none() | _STRINGS.filter(bool),
        st.none() | _INTEGERS,
        st.none() | _DECIMALS,
        st.none() | _DATES,
        st.none() | _TIMES,
    ),
    min_size=1,
    max_size=8,
)


def test_agrees_with_duckdb() -> None:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE p (place INTEGER, s VARCHAR, i INTEGER, n DECIMAL(10,2), d DATE, t TIMESTAMP)")

        @settings(max_examples=200, deadline=None)
        @given(text=EXPRESSIONS, rows=ROWS)
        def agrees(text: str, rows: list[tuple[object, ...]]) -> None:
            database.execute("TRUNCATE p")
            places = ", ".join("(?, ?, ?, ?, ?, ?)" for _ in rows)
            values = [item for place, row in enumerate(rows) for item in (place, *row)]
            database.execute(f"INSERT INTO p VALUES {places}", values)
            expected = [row[0] for row in database.execute(f"SELECT place FROM p WHERE {text} ORDER BY place").fetchall()]
            expression = PartitionExpression.parse(text, KEYS)
            texts = [tuple(NULL if item is None else str(item) for item in row) for row in rows]
            assert [place for place, row in enumerate(texts) if expression.matches(row)] == expected

        agrees()


@pytest.mark.parametrize("form", ["t = {}", "{} < t", "t IN ('2013-01-31 05:17:00', {})", "t BETWEEN {} AND {}"])
@pytest.mark.parametrize("literal", ["'2013-01-31'", "date '2013-01-31'", "'2013-01-31T05:17:00'", "'2013-01-31 05:17'"])
def test_a_timestamp_is_written_with_its_time_as_at_aws(form: str, literal: str) -> None:
    """moto's tests, which were verified at AWS, expect this format; stored values may be dates."""
    key = [Column(name="t", type="timestamp")]
    with pytest.raises(InvalidInput, match=r"Timestamp format must be yyyy-mm-dd hh:mm:ss\[\.fffffffff\]"):
        PartitionExpression.parse(form.format(literal, literal), key)
    assert PartitionExpression.parse("t = '2013-01-31 00:00:00'", key).matches(["2013-01-31"])


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("t > '2013-01-31 05:17:00.123456788'", True),
        ("t = '2013-01-31 05:17:00.123456789'", True),
        ("t = '2013-01-31 05:17:00.123456'", False),
        ("t < '2013-01-31 05:17:00.12345679'", True),
        ("t in ('2013-01-31 05:17:00.123456788', '2013-01-31 05:17:00.123456787')", False),
        ("t between '2013-01-31 05:17:00.123456789' and '2013-01-31 05:17:00.123456789'", True),
    ],
)
def test_timestamps_are_compared_to_the_nanosecond(expression: str, taken: bool) -> None:
    parsed = PartitionExpression.parse(expression, [Column(name="t", type="timestamp")])
    assert parsed.matches(["2013-01-31 05:17:00.123456789"]) is taken
