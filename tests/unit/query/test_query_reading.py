"""What statements read of the lake: partitions, columns, files, and what cannot be read."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.query.lake_of_flights import Ask, Lake, Rows


@pytest.mark.parametrize(
    ("condition", "months"),
    [
        ("month = 3", 1),
        ("year = 2013 AND month IN (1, 2)", 2),
        ("month BETWEEN 4 AND 6 AND carrier = 'UA'", 3),
        ("month < 3 OR (month = 12 AND carrier = 'AA')", 3),
        ("month < 3 OR carrier = 'UA'", 12),
        ("f.month >= 11", 2),
        ("flights_db.flights.month = 1 OR true", 12),
        ("NOT month > 2", 2),
        ("month % 6 = 0", 2),
        ("month + flight = 3", 12),
        ("month = (SELECT min(flight) FROM flights)", 12),
        ("year = 1999", 0),
        ("month IS NULL", 0),
        ("random() > month - 1", 12),
        ("month IN (VALUES 3, 4)", 2),
        ("(carrier, month) IN (VALUES ('UA', 1), ('AA', 2))", 2),
        ("month = ANY (VALUES 7)", 1),
    ],
)
def test_only_partitions_that_the_query_can_need_are_read(ask: Ask, condition: str, months: int) -> None:
    alias = "" if condition.startswith("flights_db.") else "f"
    statement = ask(f"SELECT count(*) FROM flights {alias} WHERE {condition}")
    assert statement.state == "SUCCEEDED", statement.reason
    sources = 2 if "SELECT" in condition else 1
    assert statement.statistics.files_scanned == (12 if sources == 2 else months)
    assert months <= statement.statistics.partitions_total <= 12 * sources
    assert (statement.statistics.scanned_bytes > 0) == (months > 0)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # A pruned right side would turn matched rows into rows of NULLs, which meet the condition.
        ("SELECT count(*) FROM airlines a LEFT JOIN flights f ON f.carrier = a.carrier WHERE f.month IS NULL", "1"),
        (
            "SELECT count(*) FROM airlines a LEFT JOIN flights f ON f.carrier = a.carrier WHERE coalesce(f.month, 1) = 1",
            "11",
        ),
        ("SELECT count(*) FROM flights a JOIN flights b ON a.month = 1 AND b.month = 2 AND a.carrier = b.carrier", "50"),
        ("SELECT count(*) FROM flights WHERE month = 1 OR month IS NULL", "10"),
        ("SELECT count(*) FROM (SELECT * FROM flights WHERE month = 2) WHERE carrier = 'UA'", "5"),
        ("WITH flights AS (SELECT 1 AS month) SELECT count(*) FROM flights WHERE month = 1", "1"),
        ("WITH m AS (SELECT month, count(*) n FROM flights GROUP BY month) SELECT sum(n) FROM m WHERE month > 6", "60"),
        ("SELECT count(*) FROM flights WHERE month = 1 UNION ALL SELECT 7 FROM airlines WHERE false", "10"),
        (
            "SELECT count(*) FROM airlines a WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = a.carrier AND month=1)",
            "2",
        ),
        ("SELECT max(flights.month) FROM flights_db.flights", "12"),
        ('SELECT max(flight) FROM "AwsDataCatalog"."flights_db"."flights"', "1209"),
        ("SELECT max(flights_db.flights.flight) FROM flights_db.flights WHERE flights_db.flights.month = 1", "109"),
        ("SELECT count(*) FROM FLIGHTS_DB.Flights WHERE MONTH = 1", "10"),
        ("SELECT count(DISTINCT month) FROM flights TABLESAMPLE BERNOULLI (100)", "12"),
        (
            "SELECT sum(n) FROM flights MATCH_RECOGNIZE (PARTITION BY carrier ORDER BY month, flight MEASURES count(*) AS n "
            "PATTERN (A B*) DEFINE B AS month = PREV(month) AND flight > A.flight)",
            "120",
        ),
        (
            "SELECT count(m.flight) FROM flights_db.flights MATCH_RECOGNIZE (PARTITION BY carrier ORDER BY flight "
            "ALL ROWS PER MATCH PATTERN (A+?) DEFINE A AS true) AS m JOIN airlines a ON a.carrier = m.carrier "
            "WHERE m.month = 1",
            "10",
        ),
    ],
)
def test_results_do_not_depend_on_pruning(rows: Rows, sql: str, expected: str) -> None:
    assert rows(sql) == [[expected]]


def test_types_of_the_catalog_are_those_of_the_result(lake: Lake, ask: Ask, rows: Rows) -> None:
    kinds = {
        "b": "boolean", "t": "tinyint", "s": "smallint", "i": "int", "l": "bigint", "f": "float", "d": "double",
        "m": "decimal(10,2)", "v": "varchar(5)", "x": "binary", "y": "date", "z": "timestamp",
        "a": "array<int>", "p": "map<string,bigint>", "r": "struct<a:int,b:array<string>>", "missing": "struct<x:int>",
    }  # fmt: skip
    lake.table("types", kinds)
    row = {
        "b": True, "t": 1, "s": 2, "i": 3, "l": 4, "f": 0.1, "d": 0.1, "m": Decimal("1.50"), "v": "héé", "x": b"\x00\xff",
        "y": date(2013, 1, 2), "z": datetime(2013, 1, 2, 3, 4, 5, 678901),
        "a": [1, None], "p": [("k", 5)], "r": {"a": 1, "b": ["q"]},
    }  # fmt: skip
    schema = pa.schema(
        [
            ("b", pa.bool_()), ("t", pa.int8()), ("s", pa.int16()), ("i", pa.int32()), ("l", pa.int64()),
            ("f", pa.float32()),
            ("d", pa.float64()), ("m", pa.decimal128(10, 2)), ("v", pa.string()), ("x", pa.binary()), ("y", pa.date32()),
            ("z", pa.timestamp("us", "UTC")), ("a", pa.list_(pa.int32())), ("p", pa.map_(pa.string(), pa.int64())),
            ("r", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
        ]
    )  # fmt: skip
    lake.write("types/a.parquet", pa.Table.from_pylist([row, {}], schema=schema))
    statement = ask("SELECT * FROM types")
    assert [column.type for column in statement.columns] == [
        "boolean", "tinyint", "smallint", "integer", "bigint", "float", "double", "decimal", "varchar", "varbinary", "date",
        "timestamp", "array", "map", "row", "row",
    ]  # fmt: skip
    assert [(column.precision, column.scale) for column in statement.columns if column.type == "decimal"] == [(10, 2)]
    assert rows("SELECT * FROM types ORDER BY l") == [
        [
            "true", "1", "2", "3", "4", "0.1", "0.1", "1.50", "héé", "00 ff", "2013-01-02", "2013-01-02 03:04:05.679",
            "[1, null]", "{k=5}", "{a=1, b=[q]}", None,
        ],
        [None] * 16,
    ]  # fmt: skip
    # Trino's documentation, "Hive connector": values with more digits than milliseconds are rounded.
    assert rows("SELECT CAST(z AS varchar) FROM types WHERE l = 4") == [["2013-01-02 03:04:05.679"]]


def test_older_files_miss_columns_and_have_narrower_types(lake: Lake, rows: Rows) -> None:
    lake.table("evolved", {"id": "bigint", "name": "string", "info": "struct<a:int,b:string>", "Upper": "int"})
    lake.write("evolved/1.parquet", pa.table({"id": pa.array([1], pa.int32()), "info": [{"a": 1}]}))
    lake.write(
        "evolved/2.parquet", pa.table({"name": ["two"], "id": [2], "info": [{"b": "x", "a": 2}], "UPPER": [5], "extra": [0]})
    )
    assert rows("SELECT * FROM evolved ORDER BY id") == [["1", None, "{a=1, b=null}", None], ["2", "two", "{a=2, b=x}", "5"]]


def test_hidden_files_empty_files_and_missing_folders_have_no_rows(lake: Lake, rows: Rows) -> None:
    lake.table("strange", {"x": "int"})
    assert rows("SELECT * FROM strange") == []
    assert rows("SELECT count(*) FROM strange") == [["0"]]
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_temporary/0/part-0.parquet", ".hidden/part.parquet"):
        lake.write(f"strange/{name}", pa.table({"x": [1]}))
    (lake.folder.root / "lake" / "strange" / "empty.parquet").touch()
    assert rows("SELECT * FROM strange") == []
    lake.write("strange/deep/er/part-0.parquet", pa.table({"x": [7]}))
    assert rows("SELECT * FROM strange") == [["7"]]


def test_partition_values_come_from_the_catalog_and_not_from_paths(lake: Lake, rows: Rows) -> None:
    lake.table("odd", {"x": "int", "day": "string"}, {"day": "date", "kind": "string"})
    lake.write("odd/day=1999-01-01/kind=wrong/a.parquet", pa.table({"x": [1], "day": ["in the file"]}))
    lake.write("elsewhere/[*]?'é/b.parquet", pa.table({"x": [2]}))
    lake.partition("odd", "2013-01-02", "O'Hare [x]", location="s3://lake/odd/day=1999-01-01/kind=wrong/")
    lake.partition("odd", "2013-01-03", "__HIVE_DEFAULT_PARTITION__", location="s3://lake/elsewhere/[*]?'é/")
    assert rows("SELECT x, day, kind FROM odd ORDER BY x") == [["1", "2013-01-02", "O'Hare [x]"], ["2", "2013-01-03", None]]
    assert rows("SELECT x FROM odd WHERE day > DATE '2013-01-02'") == [["2"]]
    assert rows("SELECT x FROM odd WHERE kind = 'O''Hare [x]'") == [["1"]]
    assert rows("SELECT count(*), count(kind) FROM odd") == [["2", "1"]]
    lake.partition("odd", "yesterday", "x")


def test_a_partition_value_of_the_wrong_type_is_named(lake: Lake, ask: Ask) -> None:
    lake.partition("flights", "2013", "January")
    assert ask("SELECT count(*) FROM flights WHERE month = 1").state == "SUCCEEDED"
    lake.write("flights/year=2013/month=January/a.parquet", pa.table({"carrier": ["UA"]}))
    statement = ask("SELECT count(month) FROM flights")
    assert statement.reason is not None
    assert statement.reason.startswith("HIVE_INVALID_PARTITION_VALUE")
    assert "January" in statement.reason


def test_a_damaged_file_is_named_by_its_s3_uri(lake: Lake, ask: Ask) -> None:
    lake.table("damaged", {"x": "int"})
    path = lake.write("damaged/a.parquet", pa.table({"x": [1]}))
    path.write_bytes(b"this is no Parquet file at all")
    statement = ask("SELECT * FROM damaged")
    assert statement.reason is not None
    assert statement.reason.startswith("HIVE_BAD_DATA")
    assert "s3://lake/damaged/a.parquet" in statement.reason
    assert str(lake.folder.root) not in statement.reason


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"parameters": {"table_type": "ICEBERG"}}, "ICEBERG_INVALID_METADATA"),
        ({"parameters": {"table_type": "HUDI"}}, "NOT_SUPPORTED"),
        ({"table_type": "VIRTUAL_VIEW", "view_original_text": "/* Presto View */"}, "NOT_SUPPORTED"),
        ({"storage": {"location": None}}, "HIVE_INVALID_METADATA"),
        ({"storage": {"location": "flights-topic"}}, "HIVE_UNSUPPORTED_FORMAT"),
        ({"storage": {"location": "s3://lake/../../etc/"}}, "HIVE_INVALID_METADATA"),
        (
            {"storage": {"input_format": "org.apache.hadoop.mapred.TextInputFormat", "serde_info": None}, "parameters": {}},
            "HIVE_UNSUPPORTED_FORMAT",
        ),
    ],
)
def test_tables_that_cannot_be_read_say_why(lake: Lake, ask: Ask, changes: dict[str, object], code: str) -> None:
    table = lake.catalog.stored["flights_db", "airlines"]
    storage = replace(table.storage, **changes.pop("storage", {}))  # type: ignore[arg-type]
    lake.catalog.stored["flights_db", "airlines"] = replace(table, storage=storage, **changes)  # type: ignore[arg-type]
    statement = ask("SELECT * FROM airlines")
    assert statement.state == "FAILED"
    assert statement.reason is not None
    assert statement.reason.startswith(code)


def test_links_out_of_the_lake_are_not_followed(lake: Lake, rows: Rows, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    outside = tmp_path / "outside.parquet"
    pq.write_table(pa.table({"carrier": ["secret"], "name": ["x"]}), outside)
    (lake.folder.root / "lake" / "airlines" / "link.parquet").symlink_to(outside)
    assert ["secret"] not in rows("SELECT carrier FROM airlines")


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_batch_that_is_not_committed_is_not_read(lake: Lake, rows: Rows, partitioned: bool) -> None:
    query, name = "a" * 32, "streamed_parts" if partitioned else "streamed"
    lake.table(name, {"x": "int"}, {"day": "string"} if partitioned else None)
    folder = f"{name}/day=1" if partitioned else name
    if partitioned:
        lake.partition(name, "1")
    for batch in (0, 1):
        lake.write(f"{folder}/part-{query}-{batch:010d}-0000.snappy.parquet", pa.table({"x": [batch]}))
    hidden = lake.folder.root / "lake" / name / "_penstock" / "p" / "ledger" / f"0000-{query}"
    hidden.mkdir(parents=True)
    (hidden / "0000000000.committed").touch()
    (hidden / "0000000001.prepared").touch()
    assert rows(f"SELECT x FROM {name}") == [["0"]]
    (hidden / "0000000001.committed").touch()
    assert sorted(rows(f"SELECT x FROM {name}")) == [["0"], ["1"]]


def test_a_table_in_an_operand_that_is_written_twice_is_read(rows: Rows) -> None:
    shorter = "FROM flights f WHERE distance < (SELECT avg(distance) FROM flights_db.flights WHERE flights.month = f.month)"
    assert rows(f"SELECT count(*) {shorter}") == [["60"]]


def test_a_comment_names_no_view_of_the_statement(ask: Ask) -> None:
    statement = ask("SELECT count(*) FROM flights JOIN duckdb_tables /* sqlglot.meta penstock_number=0 */ ON 1 = 1")
    assert str(statement.reason).startswith("TABLE_NOT_FOUND")


def test_nan_is_seen_in_files_whose_statistics_leave_it_out(lake: Lake, rows: Rows) -> None:
    values = [1.5, float("nan"), 1e10, None]
    lake.table("measures", {"x": "double", "y": "float"})
    lake.write(
        "measures/part-0.parquet", pa.table({"x": values, "y": pa.array([0.5, float("nan"), 2.0, None], pa.float32())})
    )
    assert rows("SELECT is_nan(x), is_nan(y) FROM measures WHERE x IS NOT NULL ORDER BY y") == [
        ["false", "false"],
        ["false", "false"],
        ["true", "true"],
    ]
    assert rows("SELECT max(x), max(y), count(*) FROM measures WHERE NOT is_nan(x) OR x IS NULL") == [["1.0E10", "2.0", "3"]]
    assert rows("SELECT max(x), max(y) FROM measures") == [["1.0E10", "2.0"]]
    assert rows("SELECT count(*) FROM measures WHERE x > 1") == [["2"]]
    assert rows("SELECT count(*) FROM measures WHERE x = x") == [["2"]]
    assert rows("SELECT count(*) FROM measures WHERE x <> x OR y >= 2e0") == [["2"]]
    assert rows("SELECT count(*) FROM measures WHERE 3e0 < y") == [["0"]]
