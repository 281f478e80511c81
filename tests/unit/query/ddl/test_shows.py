"""SHOW and DESCRIBE in all forms."""

from dataclasses import replace

import pytest

from penstock.catalog.model import TableInput
from penstock.catalog.service import CatalogService
from tests.unit.query.ddl.test_databases_and_tables import CARRIERS, FLIGHTS
from tests.unit.query.lake_of_flights import Ask, Rows

EVERYTHING = r"""CREATE EXTERNAL TABLE everything (
  ip string COMMENT 'it\'s "who"\\what', sizes array<struct<a:int,b:map<string,double>>>, `end` date)
COMMENT 'visits; all' PARTITIONED BY (day date, hour int COMMENT 'UTC')
CLUSTERED BY (ip, `end`) SORTED BY (ip DESC, `end`) INTO 4 BUCKETS
ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' ESCAPED BY '\\' COLLECTION ITEMS TERMINATED BY '\002'
LOCATION 's3://lake/logs' TBLPROPERTIES ('skip.header.line.count'='1', 'a.b'='c\'d')"""


@pytest.fixture(autouse=True)
def tables(done: Ask) -> None:
    done(CARRIERS)
    done(FLIGHTS)
    done("CREATE VIEW ua AS SELECT flight,\n  month FROM flights WHERE carrier = 'UA'")


def texts(rows: Rows, sql: str) -> list[list[str]]:
    return [[(value or "").strip() for value in row] for row in rows(sql, database="db")]


def test_show_create_table_makes_the_same_table_again(catalog: CatalogService, rows: Rows, done: Ask) -> None:
    done(EVERYTHING)
    first = catalog.table("db", "everything")
    text = "\n".join("\t".join(value or "" for value in row) for row in rows("SHOW CREATE TABLE everything", database="db"))
    done("DROP TABLE everything")
    done(text)
    second = catalog.table("db", "everything")
    assert replace(second, create_time=first.create_time, update_time=first.update_time) == first


def test_show_create_view_makes_the_same_view_again(catalog: CatalogService, rows: Rows, done: Ask, refused: Ask) -> None:
    first = catalog.table("db", "ua")
    text = "\n".join(row[0] or "" for row in rows('SHOW CREATE VIEW "db"."ua"'))
    assert text.startswith("CREATE VIEW db.ua AS\nSELECT flight,\n")
    done("DROP VIEW ua")
    done(text)
    assert catalog.table("db", "ua").view_original_text == first.view_original_text
    assert refused("SHOW CREATE VIEW carriers").reason == (
        "NOT_SUPPORTED: Relation 'db.carriers' is not a view. Use SHOW CREATE TABLE."
    )
    assert refused("SHOW CREATE TABLE ua").reason == "FAILED: SemanticException db.ua is a view. Use SHOW CREATE VIEW."


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SHOW DATABASES LIKE '.*b'", ["db"]),
        ("SHOW SCHEMAS LIKE 'd%'", ["db"]),
        ("SHOW SCHEMAS LIKE '%x'", []),
        ("SHOW CATALOGS", ["awsdatacatalog"]),
        ("SHOW CATALOGS LIKE 'aws%'", ["awsdatacatalog"]),
        ("SHOW CATALOGS LIKE 'hive'", []),
        ("SHOW TABLES IN default", []),
        ("SHOW VIEWS IN default", []),
        ("SHOW TABLES", ["carriers", "flights", "ua"]),
        ("SHOW TABLES IN db 'f*|c*'", ["carriers", "flights"]),
        ("SHOW TABLES LIKE '_a%'", ["carriers", "ua"]),
        ("SHOW TABLES IN information_schema", ["columns", "schemata", "tables", "views"]),
        ("SHOW VIEWS", ["ua"]),
        ("SHOW VIEWS FROM db LIKE 'x*'", []),
        ("SHOW COLUMNS IN flights", ["carrier", "flight", "year", "month"]),
        ("SHOW COLUMNS FROM ua IN db", ["flight", "month"]),
        ("SHOW COLUMNS FROM db.ua", ["flight", "month"]),
    ],
)
def test_names_are_listed(rows: Rows, sql: str, expected: list[str]) -> None:
    assert [row[0] for row in texts(rows, sql)] == expected


def test_properties_and_functions(rows: Rows, ask: Ask) -> None:
    assert ["EXTERNAL", "TRUE"] in texts(rows, "SHOW TBLPROPERTIES carriers")
    assert texts(rows, "SHOW TBLPROPERTIES carriers('x')") == [["x", "Table db.carriers does not have property: x"]]
    assert [row[0] for row in texts(rows, "SHOW FUNCTIONS LIKE 'date_t%'")] == ["date_trunc"]
    shown = ask("SHOW FUNCTIONS")
    assert [column.name for column in shown.columns][:2] == ["Function", "Return Type"]
    assert shown.substatement == "SHOW_FUNCTIONS"


def test_describe_of_tables_partitions_and_columns(rows: Rows, done: Ask, refused: Ask) -> None:
    done(EVERYTHING)
    assert texts(rows, "DESCRIBE ua") == [["flight", "int", ""], ["month", "int", ""]]
    assert texts(rows, "DESC carriers") == [["carrier", "string", ""], ["name", "string", ""]]
    done("ALTER TABLE everything ADD PARTITION (day='2024-01-01', hour=1)")
    assert ["# Partition Information", "", ""] in texts(rows, "DESCRIBE everything PARTITION (day='2024-01-01', hour=1)")
    for column, type_ in (
        ("sizes", "array<struct<a:int,b:map<string,double>>>"),
        ("sizes.'$elem$'", "struct<a:int,b:map<string,double>>"),
        ("sizes.'$elem$'.b.'$value$'", "double"),
        ("hour", "int"),
    ):
        assert texts(rows, f"DESCRIBE everything {column}")[0][1] == type_
    assert refused("DESCRIBE everything nothing").reason == (
        "FAILED: SemanticException [Error 10002]: Invalid column reference nothing"
    )
    reason = refused("DESCRIBE everything sizes.a").reason
    assert reason is not None
    assert reason.startswith("FAILED: SemanticException Error retrieving the field 'a' of sizes")
    assert refused("DESCRIBE gone").reason == "FAILED: SemanticException [Error 10001]: Table not found db.gone"
    assert refused("DESCRIBE everything PARTITION (day='2024-01-01', hour=2)").reason == (
        "FAILED: SemanticException [Error 10006]: Partition not found day=2024-01-01/hour=2"
    )


def test_describe_tells_of_the_storage(rows: Rows, done: Ask) -> None:
    done(EVERYTHING)
    formatted = texts(rows, "DESCRIBE FORMATTED everything")
    for line in (
        ["# col_name", "data_type", "comment"],
        ["Database:", "db", ""],
        ["Location:", "s3://lake/logs", ""],
        ["Table Type:", "EXTERNAL_TABLE", ""],
        ["", "a.b", "c'd"],
        ["SerDe Library:", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", ""],
        ["Num Buckets:", "4", ""],
        ["Bucket Columns:", "[ip, end]", ""],
        ["", "field.delim", "\\t"],
    ):
        assert line in formatted
    extended = texts(rows, "DESCRIBE EXTENDED everything")
    assert extended[-1][0] == "Detailed Table Information"
    assert "tableName:everything, dbName:db" in extended[-1][1]


def test_tables_without_classes_are_described(catalog: CatalogService, rows: Rows) -> None:
    catalog.create_table("db", TableInput(name="bare"))
    assert texts(rows, "DESCRIBE bare") == []
    assert ["InputFormat:", "null", ""] in texts(rows, "DESCRIBE FORMATTED bare")
    assert texts(rows, "SHOW CREATE TABLE bare")[0] == ["CREATE EXTERNAL TABLE `db.bare`("]


def test_default_is_added_with_its_first_table(catalog: CatalogService, rows: Rows, done: Ask) -> None:
    assert rows("SHOW TABLES", database="default") == []
    assert "default" not in [database.name for database in catalog.databases()]
    done("CREATE EXTERNAL TABLE first (a int) LOCATION 's3://lake/first/'", database="default")
    done("CREATE VIEW default.second AS SELECT 1 AS a")
    assert rows("SHOW TABLES", database="default") == [["first"], ["second"]]


STATS = """SELECT * FROM (VALUES
  (1, 1.5e0, 'ab', DATE '2024-01-01', ARRAY[1]), (2, nan(), 'abc', DATE '2024-02-01', ARRAY[2]),
  (2, 2.5e0, NULL, NULL, NULL), (NULL, NULL, NULL, NULL, NULL)) AS t(n, d, s, day, list)"""


def test_statistics_are_those_of_the_rows(ask: Ask, rows: Rows) -> None:
    shown = ask(f"SHOW STATS FOR ({STATS})")
    assert (shown.type, shown.substatement) == ("UTILITY", "SHOW_STATS")
    assert [column.name for column in shown.columns] == [
        *("column_name", "data_size", "distinct_values_count", "nulls_fraction", "row_count", "low_value", "high_value")
    ]
    assert rows(f"SHOW STATS FOR ({STATS})") == [
        ["n", "", "2.0", "0.25", "", "1", "2"],
        ["d", "", "3.0", "0.25", "", "1.5", "2.5"],
        ["s", "5.0", "2.0", "0.5", "", "", ""],
        ["day", "", "2.0", "0.5", "", "2024-01-01", "2024-02-01"],
        ["list", "", "", "0.5", "", "", ""],
        ["", "", "", "", "4.0", "", ""],
    ]
    assert rows(f"SHOW STATS FOR ({STATS} WHERE n > 5)")[0] == ["n", "", "0.0", "0.0", "", "", ""]


def test_statistics_of_a_table(rows: Rows, refused: Ask) -> None:
    assert [row[0] for row in rows("SHOW STATS FOR carriers", database="db")] == ["carrier", "name", ""]
    assert refused("SHOW STATS FOR nothing").reason == (
        "TABLE_NOT_FOUND: line 1:16: Table 'awsdatacatalog.db.nothing' does not exist"
    )
