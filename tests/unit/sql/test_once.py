"""What an operand computes is computed once, and the result is that of the value: subqueries, and calls such as random()."""

import math
import operator

import pytest

from tests.unit.sql.engine import Engine

VALUES = (math.nan, -math.inf, math.inf, 1.5, 2.5)
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


def _double(value: float) -> str:
    return {"nan": "nan()", "inf": "infinity()", "-inf": "-infinity()"}.get(str(value), f"{value}e0")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.mark.parametrize(
    "sql",
    [
        *(
            f"SELECT x FROM (VALUES 1e0) t(x) WHERE x {sign} 2 * (SELECT once FROM (VALUES 9e0) u(once))"
            for sign in OPERATORS
        ),
        *(f"SELECT (SELECT once FROM (VALUES 9e0) u(once)) {sign} x FROM (VALUES 1e0) t(x)" for sign in OPERATORS),
        "SELECT x FROM (VALUES 1e0) t(x) WHERE x BETWEEN 0 AND (SELECT once FROM (VALUES 9e0) u(once))",
        "SELECT x FROM (VALUES 1e0) t(x) WHERE (SELECT once FROM (VALUES 9e0) u(once)) IN (x, 9e0)",
        "SELECT ROW((SELECT once FROM (VALUES 9) u(once)), 1) = ROW(9, x) FROM (VALUES 1) t(x)",
        "SELECT greatest((SELECT once FROM (VALUES 9) u(once)), x) FROM (VALUES 1) t(x)",
        "SELECT CASE (SELECT once FROM (VALUES 9e0) u(once)) WHEN 9e0 THEN 1 ELSE x END FROM (VALUES 1) t(x)",
        "SELECT x, greatest((SELECT once FROM (VALUES 9) u(once)), x) FROM (VALUES 1) t(x) "
        "GROUP BY x, greatest((SELECT once FROM (VALUES 9) u(once)), x)",
        "SELECT x FROM (VALUES 1e0) t(x) GROUP BY x HAVING sum(x) <= (SELECT once FROM (VALUES 9e0) u(once))",
    ],
)
def test_a_subquery_is_in_the_engines_query_as_often_as_in_the_query(engine: Engine, sql: str) -> None:
    text, _ = engine.translated(sql)
    assert text.count("AS u(once)") == sql.count("u(once)")
    engine.rows(sql)


@pytest.mark.parametrize("sign", OPERATORS)
def test_numbers_are_compared_with_a_subquerys_as_with_the_number_itself(engine: Engine, sign: str) -> None:
    pairs = [(one, other) for one in VALUES for other in VALUES]
    for one, other in pairs:
        sides = (_double(one), _double(other))
        texts = [f"x {sign} (SELECT {sides[1]})", f"(SELECT x) {sign} {sides[1]}", f"(SELECT x) {sign} (SELECT {sides[1]})"]
        expected = str(OPERATORS[sign](one, other)).lower()
        sql = f"SELECT {', '.join(texts)} FROM (VALUES {sides[0]}) t(x)"
        assert engine.rows(sql) == [(expected,) * 3], sql
    null = "(SELECT CAST(NULL AS double))"
    texts = [f"1e0 {sign} {null}", f"{null} {sign} nan()", f"nan() {sign} {null}", f"nan() {sign} CAST(NULL AS double)"]
    assert engine.rows(f"SELECT {', '.join(texts)}, CAST(NULL AS double) {sign} nan()") == [(None,) * 5]


def test_nan_beside_null_is_of_unknown_equality(engine: Engine) -> None:
    sql = (
        "SELECT CAST(NULL AS double) BETWEEN 0 AND nan(), ROW(nan(), 1) = ROW(CAST(NULL AS double), 1), "
        "ARRAY[nan()] = ARRAY[CAST(NULL AS double)]"
    )
    assert engine.rows(sql) == [(None, None, None)]


def test_a_subquerys_value_is_that_of_each_row(engine: Engine) -> None:
    sql = (
        "WITH t(k, x) AS (VALUES (1, 1e0), (1, 9e0), (2, 5e0), (2, nan()), (3, 7e0)) "
        "SELECT k, x FROM t WHERE x < (SELECT 0.5e0 * sum(u.x) FROM t u WHERE u.k = t.k) ORDER BY 1, 2"
    )
    assert engine.rows(sql) == [("1", "1.0")]


def test_a_random_number_is_one_number(engine: Engine) -> None:
    sql = "SELECT sum(truncate(CAST(random(1000) AS decimal(5, 0)), -1) % 10) FROM UNNEST(sequence(1, 200)) t(n)"
    assert engine.rows(sql) == [("0",)]
