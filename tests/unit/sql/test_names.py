"""What names mean, and what is refused: Trino's rules of scopes, its error codes, positions and words.

Sources: Trino's documentation, "SELECT"; Trino's own tests of its analyzer (TestAnalyzer), restated.
"""

import pytest
from sqlglot import exp

from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.grammar import TrinoCalls
from penstock.sql.names.resolution import with_session
from penstock.sql.parse import parse
from tests.unit.sql.engine import Engine

RESULTS = [
    ("SELECT 10 - k AS k FROM t ORDER BY k + 0", ["8", "9"]),
    ("SELECT 10 - k AS k FROM t ORDER BY k", ["8", "9"]),
    ("SELECT 10 - k AS k FROM t ORDER BY t.k + 0", ["9", "8"]),
    ("SELECT -k AS x FROM t ORDER BY abs(x)", ["-1", "-2"]),
    ("SELECT sum(k) AS k FROM t GROUP BY s ORDER BY k * -1", ["2", "1"]),
    ("SELECT k AS s FROM t ORDER BY (SELECT max(s) FROM t), s DESC", ["2", "1"]),
    ("SELECT k FROM t UNION ALL SELECT 5 ORDER BY k DESC", ["5", "2", "1"]),
    ("SELECT k + 1 FROM t GROUP BY k + 1 HAVING k + 1 > 2", ["3"]),
    ("SELECT k + 1 AS k FROM t GROUP BY 1 ORDER BY 1", ["2", "3"]),
    ("SELECT k FROM t AS a JOIN (VALUES 1) AS b (k) USING (k)", ["1"]),
    ("SELECT x FROM (SELECT k, s FROM t) AS q (x, y) ORDER BY y DESC", ["2", "1"]),
    ("SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (VALUES 2) AS u (x) WHERE x = k)", ["2"]),
    ("SELECT u.x FROM t CROSS JOIN UNNEST(ARRAY[k]) AS u (x) ORDER BY x", ["1", "2"]),
    ("WITH a AS (SELECT k AS x FROM t), b AS (SELECT x FROM a) SELECT x FROM b ORDER BY x", ["1", "2"]),
    ("WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r ORDER BY n", list("123")),
]
REFUSED = [
    ("SELECT user", "COLUMN_NOT_FOUND: line 1:8: Column 'user' cannot be resolved"),
    ("SELECT session_user FROM t", "COLUMN_NOT_FOUND: line 1:8: Column 'session_user' cannot be resolved"),
    ("SELECT current_role", "COLUMN_NOT_FOUND: line 1:8: Column 'current_role' cannot be resolved"),
    ("SELECT current_user", "NOT_SUPPORTED: 'current_user' is not supported"),
    ("SELECT k AS z, z + 1 FROM t", "COLUMN_NOT_FOUND: line 1:16: Column 'z' cannot be resolved"),
    ("SELECT k AS z FROM t WHERE z > 1", "COLUMN_NOT_FOUND: line 1:28: Column 'z' cannot be resolved"),
    ("SELECT k AS z FROM t GROUP BY z", "COLUMN_NOT_FOUND: line 1:31: Column 'z' cannot be resolved"),
    ("SELECT max(k) AS z FROM t HAVING z > 1", "COLUMN_NOT_FOUND: line 1:34: Column 'z' cannot be resolved"),
    ("SELECT x FROM (SELECT k AS x, s AS x FROM t)", "AMBIGUOUS_NAME: line 1:8: Column 'x' is ambiguous"),
    ("SELECT a.k FROM t a, t b WHERE k = 1", "AMBIGUOUS_NAME: line 1:32: Column 'k' is ambiguous"),
    ("SELECT k FROM t a JOIN t b ON a.k = b.k", "AMBIGUOUS_NAME: line 1:8: Column 'k' is ambiguous"),
    ("SELECT kk FROM (SELECT k FROM t)", "COLUMN_NOT_FOUND: line 1:8: Column 'kk' cannot be resolved"),
    ("SELECT prize FROM (SELECT k AS price FROM t)", "Column 'prize' cannot be resolved. Did you mean 'price'?"),
    (
        "SELECT substrr(s, 1) FROM t",
        "FUNCTION_NOT_FOUND: line 1:8: Function 'substrr' not registered. Did you mean 'substr'?",
    ),
    (
        "SELECT substr(k, 1) FROM t",
        "FUNCTION_NOT_FOUND: line 1:8: Unexpected parameters (integer, integer) for function substr",
    ),
    ("SELECT k FROM t ORDER BY 5", "INVALID_COLUMN_REFERENCE: line 1:26: ORDER BY position 5 is not in select list"),
    ("SELECT k FROM t GROUP BY 0", "INVALID_COLUMN_REFERENCE: line 1:26: GROUP BY position 0 is not in select list"),
    ("SELECT k FROM t WHERE max(k) > 1", "EXPRESSION_NOT_SCALAR: line 1:23: WHERE clause cannot contain aggregations"),
    ("SELECT k FROM t GROUP BY max(k)", "EXPRESSION_NOT_SCALAR: line 1:26: GROUP BY clause cannot contain aggregations"),
    (
        "SELECT 1 FROM t a JOIN t b ON max(a.k) = 1",
        "EXPRESSION_NOT_SCALAR: line 1:31: JOIN clause cannot contain aggregations",
    ),
    (
        "SELECT s, max(k) FROM t",
        "EXPRESSION_NOT_AGGREGATE: line 1:8: 's' must be an aggregate expression or appear in GROUP BY clause",
    ),
    ("SELECT k FROM t HAVING max(k) > 1", "EXPRESSION_NOT_AGGREGATE: line 1:8: 'k' must be an aggregate expression"),
    ("SELECT k + s FROM t", "TYPE_MISMATCH: line 1:8: Cannot apply operator: integer + varchar(1)"),
    ("SELECT k FROM t WHERE k", "TYPE_MISMATCH: line 1:23: WHERE clause must evaluate to a boolean: actual type integer"),
    ("SELECT CAST(DATE '2020-01-01' AS bigint)", "TYPE_MISMATCH: line 1:18: Cannot cast date to bigint"),
    ("SELECT CAST(s AS bigint) FROM t", "INVALID_CAST_ARGUMENT: Cannot cast 'a' to BIGINT"),
    ("SELECT CAST(s AS date) FROM t", "INVALID_CAST_ARGUMENT: Value cannot be cast to date: a"),
    ("SELECT k + 2147483647 FROM t", "NUMERIC_VALUE_OUT_OF_RANGE: integer addition overflow"),
    ("SELECT sum(9223372036854775807) FROM t", "NUMERIC_VALUE_OUT_OF_RANGE: Out of range for bigint"),
    ("SELECT 1 / (k - k) FROM t", "DIVISION_BY_ZERO: Division by zero"),
    ("SELECT transform(ARRAY[1], x -> (SELECT 1))", "NOT_SUPPORTED: line 1:41: Lambda expression cannot contain subqueries"),
]
MALFORMED = [
    ("select * form t", "line 1:10: mismatched input 'form'", "Did you mean 'from'?"),
    ("select 1\nwhere from t", "line 2:7: mismatched input 'from'", ""),
    ("select count(* from t", "line 1:16: mismatched input 'from'", ""),
    ("selec 1", "line 1:1: mismatched input 'selec'", ""),
    ("select * from t order x", "line 1:23: mismatched input 'x'", ""),
]
# The engine's names of types and functions, and those of our own macros.
INTERNAL = ("trino_", "INT128", "INT64", "INT32", "HUGEINT", "ANY_VALUE", "STRUCT", "duckdb", "Binder", "utc")


@pytest.fixture(scope="module")
def engine() -> Engine:
    made = Engine()
    made.create("t", "SELECT 1 AS k, 'a' AS s UNION ALL SELECT 2, 'b'")
    return made


@pytest.mark.parametrize(("sql", "values"), RESULTS)
def test_a_name_means_what_trinos_scopes_say(engine: Engine, sql: str, values: list[str]) -> None:
    assert [row[0] for row in engine.rows(sql)] == values


@pytest.mark.parametrize(("sql", "message"), REFUSED)
def test_a_refusal_has_trinos_code_position_and_words(engine: Engine, sql: str, message: str) -> None:
    with pytest.raises(StatementError) as refused:
        engine.rows(sql)
    assert message in str(refused.value)
    assert not [name for name in INTERNAL if name in str(refused.value)]


@pytest.mark.parametrize(("sql", "message", "suggestion"), MALFORMED)
def test_a_malformed_statement_is_refused_at_the_position_of_the_error(sql: str, message: str, suggestion: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(sql)
    assert str(refused.value).startswith(message)
    assert suggestion in str(refused.value)


def test_the_sessions_schema_and_catalog_are_values() -> None:
    (tree,) = TrinoCalls().parse('SELECT current_schema, current_catalog, "current_schema" FROM t')
    assert isinstance(tree, exp.Query)
    with_session(tree, "awsdatacatalog", "sales")
    assert [expression.sql("trino") for expression in tree.expressions] == [
        "CAST('sales' AS VARCHAR)",
        "CAST('awsdatacatalog' AS VARCHAR)",
        '"current_schema"',
    ]
