"""Queries in Trino's dialect as Spark SQL: what is written otherwise, and what is refused as its results would differ."""

from collections.abc import Mapping

import pytest
from sqlglot import exp

from penstock.query.sparksql.translate import to_spark
from penstock.sql.errors import StatementError
from penstock.sql.parse import parse
from penstock.sql.statements.model import Select
from penstock.sql.translate import to_engine
from penstock.sql.trino_types import Type

COLUMNS: Mapping[str, Type | None] = {
    name: Type.of_hive(type_)
    for name, type_ in {
        "i": "int",
        "b": "bigint",
        "s": "string",
        "d": "double",
        "f": "float",
        "p": "decimal(15,2)",
        "day": "date",
        "at": "timestamp",
        "a": "array<int>",
        "yes": "boolean",
    }.items()
}


def columns(node: exp.Table) -> Mapping[str, Type | None] | None:
    return COLUMNS if node.name in {"t", "u"} else None


def translated(sql: str) -> tuple[str, list[tuple[str, str]]]:
    parsed = parse(sql)
    assert isinstance(parsed, Select)
    to_engine(parsed.tree.copy(), columns)
    types = to_spark(parsed.tree, columns)
    return parsed.tree.sql("spark", identify=True), [(name, str(type_)) for name, type_ in types]


@pytest.mark.parametrize(
    ("expression", "spark"),
    [
        # Trino's quotient of integers is an integer, Spark's a double.
        ("i / 2", "CAST((`i` DIV 2) AS INT)"),
        ("b / i", "CAST((`b` DIV CAST(`i` AS BIGINT)) AS BIGINT)"),
        # Spark refuses to divide doubles by zero.
        ("d / 2e0", "(`d` / 2e0)"),
        ("p * p", "CAST((CAST(`p` AS DECIMAL(15, 2)) * CAST(`p` AS DECIMAL(15, 2))) AS DECIMAL(30, 4))"),
        ("i + p", "CAST((CAST(`i` AS DECIMAL(10, 0)) + CAST(`p` AS DECIMAL(15, 2))) AS DECIMAL(16, 2))"),
        # Spark cuts, Trino rounds.
        ("CAST(d AS bigint)", "CAST(ROUND(`d`, 0) AS BIGINT)"),
        # NaN is greater than no number.
        ("d > 3e0", "(`d` > 3e0 AND NOT ISNAN(`d`))"),
        ("i = b", "CAST(`i` AS BIGINT) = `b`"),
        ("day + INTERVAL '3' DAY", "DATE_ADD(`day`, 3)"),
        ("day - INTERVAL '1' YEAR", "ADD_MONTHS(`day`, -12)"),
        # Spark's is an instant.
        ("date_trunc('hour', at)", "CAST(DATE_TRUNC('hour', `at`) AS TIMESTAMP_NTZ)"),
        ("TIMESTAMP '2024-01-31 10:00:00'", "CAST('2024-01-31 10:00:00' AS TIMESTAMP_NTZ)"),
        ("year(day)", "CAST(YEAR(`day`) AS BIGINT)"),
        ("sum(p)", "CAST(SUM(CAST(`p` AS DECIMAL(38, 2))) AS DECIMAL(38, 2))"),
        ("sum(f)", "CAST(SUM(`f`) AS FLOAT)"),
        ("max(d)", "COALESCE(MAX(NULLIF(`d`, CAST('NaN' AS DOUBLE))), MAX(`d`))"),
        ("count(DISTINCT s) FILTER (WHERE yes)", "COUNT(DISTINCT `s`) FILTER(WHERE `yes`)"),
        # NULLs are last, whatever the direction.
        ("rank() OVER (ORDER BY i)", "CAST(RANK() OVER (ORDER BY `i` NULLS LAST) AS BIGINT)"),
        # Backslashes are characters.
        (r"s || '\n'", r"CONCAT(`s`, '\\n')"),
        ("substr(s, 2, 3)", "SUBSTR(`s`, 2, 3)"),
        ("strpos(s, 'x')", "CAST(INSTR(`s`, 'x') AS BIGINT)"),
        ("if(i > 1, i, b)", "IF(`i` > 1, CAST(`i` AS BIGINT), CAST(`b` AS BIGINT))"),
    ],
)
def test_an_expression_is_written_for_trinos_result(expression: str, spark: str) -> None:
    assert translated(f"SELECT {expression} AS x FROM t")[0] == f"SELECT {spark} AS `x` FROM `t`"


def test_a_division_by_zero_of_doubles_has_no_error() -> None:
    sql, _ = translated("SELECT d / i AS x FROM t")
    assert "TRY_DIVIDE" in sql
    assert "Infinity" in sql


def test_a_query_keeps_its_meaning() -> None:
    sql = "SELECT s FROM t ORDER BY s, i DESC OFFSET 1 FETCH FIRST 2 ROWS ONLY"
    assert translated(sql)[0] == "SELECT `s` FROM `t` ORDER BY `s` NULLS LAST, `i` DESC LIMIT 2 OFFSET 1"
    rollup = "SELECT i, count(*) AS n FROM t GROUP BY ROLLUP (i)"
    assert translated(rollup)[0] == "SELECT `i`, COUNT(*) AS `n` FROM `t` GROUP BY ROLLUP (`i`)"


def test_a_results_columns_have_trinos_types() -> None:
    sql = "SELECT i, s AS Name, a, p * p AS x FROM t"
    assert translated(sql)[1] == [
        ("i", "integer"),
        ("Name", "varchar"),
        ("a", "array(integer)"),
        ("x", "decimal(30,4)"),
    ]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT p / 3 FROM t", "'/' is not supported by the engine Spark SQL: the quotient of decimal(15,2) and integer"),
        ("SELECT avg(p) FROM t", "the mean of a decimal(15,2)"),
        ("SELECT CAST(d AS varchar) FROM t", "double as varchar"),
        ("SELECT CAST(s AS integer) FROM t", "varchar as integer"),
        ("SELECT round(d) FROM t", "'round' is not supported by the engine Spark SQL"),
        ("SELECT regexp_like(s, 'a.b') FROM t", "'regexp_like'"),
        ("SELECT array_agg(i) FROM t", "'array_agg'"),
        ("SELECT greatest(i, b) FROM t", "'greatest'"),
        ("SELECT s LIKE 'a\\%' FROM t", "backslashes"),
        ("SELECT substr(s, i) FROM t", "argument 2 is not a constant"),
        ("SELECT split_part(s, ',', 1) FROM t", "'split_part'"),
        ("SELECT a[1] FROM t", "'[]'"),
        ("SELECT x FROM t CROSS JOIN UNNEST(a) AS q (x)", "UNNEST"),
        ("SELECT n FROM t MATCH_RECOGNIZE (MEASURES 1 AS n PATTERN (A) DEFINE A AS true)", "MATCH_RECOGNIZE"),
        ("SELECT i FROM t TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE"),
        ("SELECT i FROM t ORDER BY i FETCH FIRST 2 ROWS WITH TIES", "WITH TIES"),
        ("SELECT NULL AS x FROM t", "the type of the result's column x"),
        ("SELECT at + INTERVAL '1' HOUR FROM t", "the sum of a timestamp(3) and an interval"),
        ("SELECT current_timestamp FROM t", "is not supported by the engine Spark SQL"),
        ("SELECT CASE i WHEN 1 THEN 2 ELSE 3 END FROM t", "CASE with an operand"),
        ("SELECT random() FROM t", "'random'"),
    ],
)
def test_what_has_another_result_there_is_refused_by_name(sql: str, said: str) -> None:
    with pytest.raises(StatementError) as refused:
        translated(sql)
    assert refused.value.code == "NOT_SUPPORTED"
    assert said in refused.value.message
