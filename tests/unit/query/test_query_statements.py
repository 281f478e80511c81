"""Statements in Athena's dialect: what they return, and how failures are worded."""

import pytest

from penstock.query.service import QueryService
from tests.unit.query.lake_of_flights import Ask, Lake, Rows


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 5 / 2", "2"),
        ("SELECT 5.0 / 2", "2.5"),
        ("SELECT 1e7, 1e-4, 123456.789e0", "1.0E7,1.0E-4,123456.789"),
        ("SELECT sum(x) FROM (VALUES 1, 2) t(x)", "3"),
        ("SELECT ARRAY[1, NULL, 3]", "[1, null, 3]"),
        ("SELECT MAP(ARRAY['a'], ARRAY[1])", "{a=1}"),
        ("SELECT CAST(ROW(1, 'x') AS ROW(a integer, b varchar))", "{a=1, b=x}"),
        ("SELECT true, NULL, ''", "true,None,"),
        ("SELECT DATE '2013-01-31', TIMESTAMP '2013-01-31 05:17:00.123'", "2013-01-31,2013-01-31 05:17:00.123"),
        ("SELECT date_diff('day', DATE '2013-01-01', DATE '2013-03-01')", "59"),
        ("SELECT date_trunc('month', DATE '2013-03-17')", "2013-03-01"),
        ("SELECT date_add('day', 1, DATE '2013-02-28')", "2013-03-01"),
        ("SELECT date_format(TIMESTAMP '2013-01-31 05:17:00', '%Y-%m-%d %H:%i')", "2013-01-31 05:17"),
        ("SELECT date_parse('2013-01', '%Y-%m')", "2013-01-01 00:00:00.000"),
        ("SELECT from_unixtime(0)", "1970-01-01 00:00:00.000 UTC"),
        ("SELECT cardinality(ARRAY[1, 2]), element_at(ARRAY[1, 2], 2), contains(ARRAY[1], 1)", "2,2,true"),
        ("SELECT regexp_like('abc', 'b'), regexp_extract('a12', '[0-9]+'), split('a,b', ',')", "true,12,[a, b]"),
        ("""SELECT json_extract_scalar('{"a": "x"}', '$.a')""", "x"),
        ("SELECT strpos('abc', 'c'), substr('abc', 2), concat('a', 'b'), 'a' || 'b', upper('a')", "3,bc,ab,ab,A"),
        ("SELECT try_cast('x' AS bigint), coalesce(NULL, 1), if(1 > 2, 'a', 'b'), nullif(1, 1)", "None,1,b,None"),
        ("SELECT approx_distinct(x), max_by(x, y), count_if(x > 1) FROM (VALUES (1, 2), (3, 1)) t(x, y)", "2,1,1"),
        ("SELECT array_join(ARRAY['a', 'b'], '-'), array_agg(x) FROM (VALUES 1) t(x)", "a-b,[1]"),
        ("SELECT to_hex(to_utf8('a')), to_utf8('ab')", "61,61 62"),
        (
            "SELECT day_of_week(DATE '2013-01-07'), year(DATE '2013-01-07'), extract(month FROM DATE '2013-01-07')",
            "1,2013,1",
        ),
        ("SELECT x FROM (VALUES 2, NULL, 1) t(x) ORDER BY x DESC LIMIT 1", "2"),
        ("SELECT transform(ARRAY[1, 2], x -> x + 1), filter(ARRAY[1, 2], x -> x > 1)", "[2, 3],[2]"),
        ("SELECT a.x, row_number() OVER (ORDER BY x) FROM (VALUES 5) a(x)", "5,1"),
        (
            "SELECT d + INTERVAL '1' DAY, d - INTERVAL '1' MONTH FROM (VALUES DATE '2013-03-01') t(d)",
            "2013-03-02,2013-02-01",
        ),
        (
            "SELECT date_add('hour', n * 2, t) FROM (VALUES (1, TIMESTAMP '2013-03-01 05:00:00')) v(n, t)",
            "2013-03-01 07:00:00.000",
        ),
        ("SELECT INTERVAL '1' DAY + TIMESTAMP '2013-03-01 05:00:00'", "2013-03-02 05:00:00.000"),
        ("SELECT round(2.5), floor(2.7e0), mod(7, 3), power(2, 3)", "3,2.0,1,8.0"),
        ("SELECT CAST(1.5 AS varchar), CAST('2013-01-01' AS date), CAST(1 AS boolean)", "1.5,2013-01-01,true"),
        ("SELECT current_date = date(now())", "true"),
        ("SELECT format('%s-%s', 1, 'a')", "1-a"),
        ("SELECT INTERVAL '2' DAY", "2 00:00:00.000"),
    ],
)
def test_trinos_dialect(rows: Rows, sql: str, expected: str) -> None:
    assert ",".join(map(str, rows(sql)[0])) == expected


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nothing FROM flights", "COLUMN_NOT_FOUND: line 1:8: Column 'nothing' cannot be resolved"),
        ("SELECT 1,\n f.nothing FROM flights f", "COLUMN_NOT_FOUND: line 2:4: Column 'nothing' cannot be resolved"),
        ("SELECT 1 FROM nothing", "TABLE_NOT_FOUND: line 1:15: Table 'awsdatacatalog.flights_db.nothing' does not exist"),
        ("SELECT 1 FROM no_db.t", "SCHEMA_NOT_FOUND: line 1:15: Schema 'no_db' does not exist"),
        ("SELECT 1 FROM a.b.c", "CATALOG_NOT_FOUND: line 1:15: Catalog 'a' does not exist"),
        (
            "SELECT 1 FROM '/etc/passwd'",
            "TABLE_NOT_FOUND: line 1:15: Table 'awsdatacatalog.flights_db./etc/passwd' does not exist",
        ),
        ("SELECT no_such_function(1)", "FUNCTION_NOT_FOUND: line 1:8: Function 'no_such_function' not registered"),
        ("SELECT CAST('x' AS integer)", "INVALID_CAST_ARGUMENT: Cannot cast 'x' to INTEGER"),
        ("SELECT 1 / 0", "DIVISION_BY_ZERO: Division by zero"),
        ("SELECT 1 / (flight - flight) FROM flights", "DIVISION_BY_ZERO: Division by zero"),
        (
            "SELECT carrier, count(*) FROM flights",
            "EXPRESSION_NOT_AGGREGATE: line 1:8: 'carrier' must be an aggregate expression or appear in GROUP BY clause",
        ),
        ("SELECT carrier FROM flights, airlines", "AMBIGUOUS_NAME: "),
        ("SHOW TABLES IN no_db", "FAILED: SemanticException [Error 10072]: Database does not exist: no_db"),
        ("DESCRIBE nothing", "FAILED: SemanticException [Error 10001]: Table not found flights_db.nothing"),
        (
            "SHOW PARTITIONS airlines",
            "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask. "
            "Table flights_db.airlines is not a partitioned table",
        ),
        ("SELECT cast(9223372036854775807 as bigint) + 1", "NUMERIC_VALUE_OUT_OF_RANGE: "),
    ],
)
def test_failures_have_athenas_code_position_and_message(ask: Ask, sql: str, reason: str) -> None:
    statement = ask(sql)
    assert statement.state == "FAILED"
    assert statement.reason is not None
    assert statement.reason.startswith(reason)
    assert "read_parquet" not in statement.reason


def test_parameters_take_the_places_of_question_marks(rows: Rows) -> None:
    sql = "SELECT name FROM airlines WHERE carrier = ? OR name LIKE ? ORDER BY 1 LIMIT ?"
    assert rows(sql, parameters=("'UA'", "'American%'", "1")) == [['American "A"']]


def test_nulls_and_empty_texts_stay_apart_in_the_csv(service: QueryService, lake: Lake, ask: Ask) -> None:
    statement = ask("SELECT * FROM (VALUES ('', NULL, 'a\"b\nc,d')) t(x, y, z)")
    text = lake.folder.path(statement.result_uri).read_bytes()
    assert text == b'"x","y","z"\n"",,"a""b\nc,d"\n'
    assert service.results(statement.id)[1].rows == [["x", "y", "z"], ["", None, 'a"b\nc,d']]
    single = ask("SELECT * FROM (VALUES NULL, '') t(x)")
    assert service.results(single.id)[1].rows == [["x"], [None], [""]]
    assert lake.folder.path(single.result_uri + ".metadata").is_file()


def test_unnamed_columns_have_trinos_names(ask: Ask) -> None:
    assert [column.name for column in ask("SELECT 1, carrier, count(*) AS N, 2 FROM flights GROUP BY 2").columns] == [
        "_col0",
        "carrier",
        "N",
        "_col3",
    ]


def test_show_and_describe(rows: Rows) -> None:
    assert rows("SHOW DATABASES") == [["flights_db"], ["empty_db"]]
    assert rows("SHOW TABLES 'air*'") == [["airlines"]]
    assert rows("SHOW TABLES IN empty_db") == []
    assert rows("SHOW TABLES 'air*'", database="`flights_db`") == [["airlines"]]
    assert rows("SHOW PARTITIONS flights")[0] == ["year=2013/month=1"]
    assert [row[0].strip() for row in rows("SHOW COLUMNS IN flights") if row[0]] == [
        "carrier", "flight", "distance", "dep_time", "year", "month",
    ]  # fmt: skip
    described = [[name.strip() for name in row if name] for row in rows("DESCRIBE flights")]
    assert described[0] == ["carrier", "string", ""]
    assert ["# Partition Information"] in described
    text = "\n".join(row[0] or "" for row in rows("SHOW CREATE TABLE flights"))
    assert "CREATE EXTERNAL TABLE `flights_db.flights`(" in text
    assert "PARTITIONED BY ( \n  `year` int, \n  `month` int)" in text
    assert rows("SHOW TBLPROPERTIES airlines('classification')") == [["classification", "parquet"]]
    assert any(
        "s0" in (row[0] or "") or "PARQUET" in (row[0] or "").upper() for row in rows("EXPLAIN SELECT * FROM airlines")
    )


def test_patterns_of_show_match_whole_names_without_backtracking(lake: Lake, rows: Rows) -> None:
    name = "a" * 120
    lake.table(name, {"x": "int"})
    assert rows(f"SHOW TABLES LIKE '{'*a' * 20}'") == [[name]]
    # With backtracking, each star of the second pattern would multiply the attempts: hours.
    assert rows(f"SHOW TABLES LIKE '{'*a' * 20}b'") == []
    assert rows("SHOW TABLES LIKE 'AIR*es | flig*'") == [["airlines"], ["flights"]]
