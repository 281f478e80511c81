"""EXPLAIN: the routes of tables, and the engine's own plan, in each format."""

import json

import pytest

from tests.unit.query.ddl.test_databases_and_tables import CARRIERS, FLIGHTS
from tests.unit.query.lake_of_flights import Ask, Rows


@pytest.fixture(autouse=True)
def tables(done: Ask) -> None:
    done(CARRIERS)
    done(FLIGHTS)
    done("MSCK REPAIR TABLE flights")
    done("CREATE VIEW ua AS SELECT flight, month FROM flights WHERE carrier = 'UA'")


def text(rows: Rows, sql: str) -> str:
    return "\n".join("\t".join(value or "" for value in row) for row in rows(sql, database="db"))


def test_the_plan_names_the_engine_and_each_tables_route(rows: Rows, done: Ask) -> None:
    plan = text(rows, "EXPLAIN SELECT c.name, u.flight FROM carriers c, ua u WHERE u.month = 3")
    lines = plan.splitlines()
    assert lines[0].startswith("Engine: DuckDB ")
    assert lines[1].startswith("db.carriers: DuckDB reads 1 Parquet file")
    assert lines[2].startswith("db.ua: view (db.flights: DuckDB reads 1 Parquet file")
    explained = done("EXPLAIN SELECT * FROM carriers")
    assert (explained.type, explained.substatement) == ("UTILITY", "EXPLAIN")
    assert explained.statistics.scanned_bytes == 0
    assert [column.name for column in explained.columns] == ["Query Plan"]


def test_formats_and_types(rows: Rows) -> None:
    document = json.loads(text(rows, "EXPLAIN (FORMAT JSON) SELECT count(*) FROM carriers"))
    assert document["tables"][0]["table"] == "db.carriers"
    assert document["plan"][0]["name"]
    graph = text(rows, "EXPLAIN (FORMAT GRAPHVIZ) SELECT count(*) FROM carriers")
    assert graph.startswith("// Engine: DuckDB")
    assert "digraph" in graph
    assert text(rows, "EXPLAIN (TYPE VALIDATE) SELECT count(*) FROM carriers") == "true"
    [table] = json.loads(text(rows, "EXPLAIN (TYPE IO, FORMAT JSON) SELECT 1 FROM flights WHERE month < 3"))[
        "inputTableColumnInfos"
    ]
    assert table["table"]["schemaTable"] == {"schema": "db", "table": "flights"}
    assert (table["files"], table["partitions"]) == (2, {"read": 2, "considered": 2})


def test_analyze_runs_the_query(rows: Rows, done: Ask) -> None:
    assert "Total Time" in text(rows, "EXPLAIN ANALYZE SELECT count(*) FROM carriers")
    analyzed = done("EXPLAIN ANALYZE VERBOSE SELECT count(*) FROM carriers")
    assert (analyzed.substatement, analyzed.statistics.files_scanned) == ("EXPLAIN_ANALYZE", 1)


def test_statements_with_a_query_are_explained_and_not_run(rows: Rows) -> None:
    plan = text(rows, "EXPLAIN CREATE TABLE copy AS SELECT * FROM carriers")
    assert "CREATE_TABLE_AS_SELECT of the rows of:" in plan
    assert [row[0] for row in rows("SHOW TABLES IN db")] == ["carriers", "flights", "ua"]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("EXPLAIN SELECT gone FROM carriers", "COLUMN_NOT_FOUND: line 1:16: Column 'gone' cannot be resolved"),
        ("EXPLAIN (TYPE VALIDATE) SELECT 1 FROM gone", "TABLE_NOT_FOUND: line 1:39: Table 'awsdatacatalog.db.gone'"),
        ("EXPLAIN ANALYZE INSERT INTO carriers SELECT 1", "NOT_SUPPORTED: EXPLAIN ANALYZE of a statement that writes"),
    ],
)
def test_refusals(refused: Ask, sql: str, reason: str) -> None:
    actual = refused(sql).reason
    assert actual is not None
    assert actual.startswith(reason)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TABLE carriers LIMIT 0", []),
        ("TABLE db.carriers", [["AA", 'American "A"'], ["DL", None], ["UA", "United"]]),
        ("VALUES (1, 'a'), (2, 'b')", [["1", "a"], ["2", "b"]]),
        ("-- first\n/* and\n second */ SELECT /* in */ 1 -- last", [["1"]]),
        ('SELECT \'-- not a comment\', "x /* y" FROM (VALUES 2) t("x /* y")', [["-- not a comment", "2"]]),
    ],
)
def test_other_forms_of_queries(rows: Rows, sql: str, expected: list[list[str | None]]) -> None:
    lines = rows(sql, database="db")
    assert sorted(lines, key=lambda row: row[0] or "") == expected
