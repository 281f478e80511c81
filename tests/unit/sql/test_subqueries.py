"""Comparisons with subqueries, over columns and NULLs, beside SQL's logic of three values worked out row by row.

Sources: Trino's documentation, "Comparison functions and operators" (quantified comparisons), "SELECT" (IN); for ``= ALL``
beside NULL, Trino's plan (trinodb/trino, TransformQuantifiedComparisonApplyToCorrelatedJoin).
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import product

import pytest

from penstock.sql.errors import StatementError
from tests.unit.sql.engine import Engine

Value = int | None
Pair = tuple[Value, Value]
ONE: Sequence[Value] = (1, 2, None)
PAIRS: list[Pair] = list(product(ONE, ONE))
SETS: Sequence[Sequence[Pair]] = [(), *((pair,) for pair in PAIRS), *zip(PAIRS, PAIRS[4:] + PAIRS[:4], strict=True)]
SIGNS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def _any(answers: Iterable[bool | None]) -> bool | None:
    values = set(answers)
    return True if True in values else None if None in values else False


def _all(answers: Iterable[bool | None]) -> bool | None:
    return _not(_any(_not(answer) for answer in answers))


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _equal(one: Pair, other: Pair) -> bool | None:
    return _all(None if a is None or b is None else a == b for a, b in zip(one, other, strict=True))


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)


def _rows(pairs: Iterable[Sequence[Value]], names: str) -> str:
    rows = ", ".join(f"({', '.join(map(_text, pair))})" for pair in pairs)
    kinds = ", ".join(f"CAST(NULL AS integer) AS {name}" for name in names.split(", "))
    return f"(SELECT {kinds} WHERE false UNION ALL VALUES {rows})" if rows else f"(SELECT {kinds} WHERE false)"


def _answers(engine: Engine, select: str) -> list[bool | None]:
    truth = {"true": True, "false": False, None: None}
    return [truth[row[0]] for row in engine.rows(select)]


@pytest.mark.parametrize("value", ["(a, b)", "ROW(a, b)", "r"])
@pytest.mark.parametrize("query", ["SELECT c, d FROM s", "SELECT ROW(c, d) FROM s", "SELECT * FROM s WHERE x > 0"])
def test_rows_in_subqueries_have_three_values(engine: Engine, value: str, query: str) -> None:
    """The last query is correlated, which the engine computes in another way."""
    for members in SETS:
        select = (
            f"WITH s AS {_rows(members, 'c, d')}, t AS (SELECT a, b, ROW(a, b) AS r, 1 AS x, n FROM "
            f"(VALUES {', '.join(f'({at}, {_text(a)}, {_text(b)})' for at, (a, b) in enumerate(PAIRS))}) AS u(n, a, b)) "
        )
        expected = [_any(_equal(pair, member) for member in members) for pair in PAIRS]
        assert _answers(engine, f"{select} SELECT {value} IN ({query}) FROM t ORDER BY n") == expected, members
        assert _answers(engine, f"{select} SELECT {value} <> ALL ({query}) FROM t ORDER BY n") == list(map(_not, expected))
        kept = engine.rows(f"{select} SELECT n FROM t WHERE {value} NOT IN ({query}) ORDER BY n")
        assert [int(n or 0) for (n,) in kept] == [at for at, answer in enumerate(expected) if answer is False]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("quantifier", ["ANY", "SOME", "ALL"])
def test_quantified_comparisons_have_three_values(engine: Engine, sign: str, quantifier: str) -> None:
    values: Sequence[Value] = (0, 1, 2, 3, None)
    outer = ", ".join(f"({at}, {_text(number)})" for at, number in enumerate(values))
    for members in ((), (1,), (None,), (1, 2), (1, 1), (1, None), (1, 2, None), (1, 1, None)):
        for where in ("", " WHERE y >= x - 100 OR x IS NULL OR y IS NULL"):
            query = f"SELECT y FROM s{where}"
            answers = _answers(
                engine,
                f"WITH s AS {_rows([(member,) for member in members], 'y')} "
                f"SELECT x {sign} {quantifier} ({query}) FROM (VALUES {outer}) AS t(n, x) ORDER BY n",
            )
            assert answers == [_quantified(sign, quantifier, number, members) for number in values], (members, where)


def _quantified(sign: str, quantifier: str, value: Value, members: Sequence[Value]) -> bool | None:
    compared = [None if value is None or member is None else SIGNS[sign](value, member) for member in members]
    if (sign, quantifier) in {("=", "ALL"), ("<>", "ANY"), ("<>", "SOME")} and len(set(members) - {None}) > 1:
        return sign == "<>"  # Trino compares the least with the greatest first, and does not look at the value
    return _all(compared) if quantifier == "ALL" else _any(compared)


def test_brackets_around_a_query_change_nothing(engine: Engine) -> None:
    assert engine.rows("SELECT b, a FROM ((SELECT 1, 2)) AS t (a, b)") == [("2", "1")]
    assert engine.rows("SELECT ((SELECT 1, 2)) = ROW(1, 2), (((SELECT 3)))") == [("true", "3")]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 IN (VALUES 'a')", "integer vs varchar(1)"),
        ("1 = ANY (VALUES 'a')", "integer vs varchar(1)"),
        ("(1, 2) IN (VALUES (1, 2, 3))", "row(integer, integer) vs row(integer, integer, integer)"),
        ("(1, 2) IN (SELECT 1, 'a')", "row(integer, integer) vs row(integer, varchar(1))"),
        ("1 IN (SELECT 1, 2)", "integer vs row(integer, integer)"),
    ],
)
def test_types_that_do_not_fit_are_refused_in_trinos_words(engine: Engine, expression: str, message: str) -> None:
    with pytest.raises(StatementError) as refused:
        engine.value(expression)
    assert refused.value.code == "TYPE_MISMATCH"
    assert f"Value expression and result of subquery must be of the same type: {message}" in refused.value.message


def test_large_subqueries_are_not_compared_row_by_row(engine: Engine) -> None:
    """Ten thousand million comparisons would take minutes."""
    tens = "SELECT x * 10 + y AS n FROM UNNEST(sequence(0, 9999)) a(x) CROSS JOIN UNNEST(sequence(1, 10)) b(y)"
    numbers = f"(SELECT n, n % 7 AS m FROM ({tens}))"
    for condition, expected in {
        "(n, m) IN (SELECT n + 14, m FROM s)": "99986",
        "(n, m) NOT IN (SELECT n + 7, m FROM s)": "7",
        "n >= ALL (SELECT n FROM s)": "1",
        "n < ANY (SELECT n FROM s)": "99999",
    }.items():
        assert engine.rows(f"WITH s AS {numbers} SELECT count(*) FROM s WHERE {condition}") == [(expected,)], condition
