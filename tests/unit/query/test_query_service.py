"""Statements from start to result: what they read, what they return, how they end."""

import time
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

from penstock.query.errors import InvalidRequest, TooManyRequests
from penstock.query.execution.children import ChildPool
from penstock.query.execution.sinks import LakeSink
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.statements.model import StatementId, StatementState
from penstock.store.memory.statements import MemoryStatementStore
from tests.unit.query.lake_of_flights import Ask, Lake, Rows, finished

ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 1000000)) a(x) CROSS JOIN UNNEST(sequence(1, 1000000)) b(y) WHERE x * y = -1"
)


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
    ],
)
def test_only_partitions_that_the_query_can_need_are_read(ask: Ask, condition: str, months: int) -> None:
    alias = "" if condition.startswith("flights_db.") else "f"
    statement = ask(f"SELECT count(*) FROM flights {alias} WHERE {condition}")
    assert statement.state == "SUCCEEDED", statement.reason
    sources = 2 if "SELECT" in condition else 1
    assert statement.statistics.files_scanned == (12 if sources == 2 else months)
    assert statement.statistics.partitions_total == 12 * sources
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
    ],
)
def test_results_do_not_depend_on_pruning(rows: Rows, sql: str, expected: str) -> None:
    assert rows(sql) == [[expected]]


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
        ("SELECT CAST('x' AS integer)", "INVALID_CAST_ARGUMENT: Could not convert string 'x' to INT32"),
        ("SELECT 1 / 0", "DIVISION_BY_ZERO: Division by zero"),
        ("SELECT 1 / (flight - flight) FROM flights", "DIVISION_BY_ZERO: Division by zero"),
        ("SELECT carrier, count(*) FROM flights", 'EXPRESSION_NOT_AGGREGATE: column "carrier" must appear in the GROUP BY'),
        ("SELECT carrier FROM flights, airlines", "AMBIGUOUS_NAME: "),
        ("SHOW TABLES IN no_db", "SCHEMA_NOT_FOUND: Schema 'no_db' does not exist"),
        ("DESCRIBE nothing", "TABLE_NOT_FOUND: Table 'awsdatacatalog.flights_db.nothing' does not exist"),
        ("SHOW PARTITIONS airlines", "NOT_SUPPORTED: Table flights_db.airlines is not a partitioned table"),
        ("SELECT cast(9223372036854775807 as bigint) + 1", "NUMERIC_VALUE_OUT_OF_RANGE: "),
    ],
)
def test_failures_have_athenas_code_position_and_message(ask: Ask, sql: str, reason: str) -> None:
    statement = ask(sql)
    assert statement.state == "FAILED"
    assert statement.reason is not None
    assert statement.reason.startswith(reason)
    assert "read_parquet" not in statement.reason


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
    assert [each.type for each in statement.columns] == [
        "boolean", "tinyint", "smallint", "integer", "bigint", "float", "double", "decimal", "varchar", "varbinary", "date",
        "timestamp", "array", "map", "row", "row",
    ]  # fmt: skip
    assert [(each.precision, each.scale) for each in statement.columns if each.type == "decimal"] == [(10, 2)]
    assert rows("SELECT * FROM types ORDER BY l") == [
        [
            "true", "1", "2", "3", "4", "0.1", "0.1", "1.50", "héé", "00 ff", "2013-01-02", "2013-01-02 03:04:05.678",
            "[1, null]", "{k=5}", "{a=1, b=[q]}", None,
        ],
        [None] * 16,
    ]  # fmt: skip


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
    statement = ask("SELECT count(*) FROM flights WHERE month = 1")
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
        ({"parameters": {"table_type": "ICEBERG"}}, "NOT_SUPPORTED"),
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
    assert [each.name for each in ask("SELECT 1, carrier, count(*) AS N, 2 FROM flights GROUP BY 2").columns] == [
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
    described = [[each.strip() for each in row if each] for row in rows("DESCRIBE flights")]
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


def test_a_token_makes_a_start_idempotent(service: QueryService) -> None:
    request = StatementRequest(sql="SELECT 1", token="t" * 32)
    first = service.start(request)
    assert service.start(request) == first
    with pytest.raises(InvalidRequest, match="Idempotent parameters do not match"):
        service.start(replace(request, sql="SELECT 2"))


def test_a_statement_is_stopped_while_it_runs(service: QueryService) -> None:
    statement_id = service.start(StatementRequest(sql=ENDLESS))
    deadline = time.monotonic() + 30
    while service.get(statement_id).state != "RUNNING":
        assert time.monotonic() < deadline
    service.stop(statement_id)
    statement = finished(service, statement_id)
    assert (statement.state, statement.reason) == ("CANCELLED", "Query canceled by user")
    service.stop(statement_id)
    assert service.get(statement_id) == statement


def test_a_stop_requested_in_another_process_is_found_in_the_store(
    lake: Lake, settings: QuerySettings, service: QueryService, children: ChildPool
) -> None:
    statement_id = service.start(StatementRequest(sql=ENDLESS))
    deadline = time.monotonic() + 30
    while service.get(statement_id).state != "RUNNING":
        assert time.monotonic() < deadline
    other = QueryService(
        store=service._store,
        catalog=lake.catalog,
        lake=lake.folder,
        settings=settings,
        sink=LakeSink(lake.folder),
        children=children,
    )
    other.stop(statement_id)
    assert finished(other, statement_id).state == "CANCELLED"
    other.close()


def test_limits_of_time_memory_result_queue_and_files(lake: Lake, settings: QuerySettings, children: ChildPool) -> None:
    def service(**limits: object) -> QueryService:
        return QueryService(
            store=MemoryStatementStore(),
            catalog=lake.catalog,
            lake=lake.folder,
            settings=replace(settings, **limits),  # type: ignore[arg-type]
            sink=LakeSink(lake.folder),
            children=children,
        )

    def failure(made: QueryService, sql: str) -> str:
        statement = finished(made, made.start(StatementRequest(sql=sql, database="flights_db")))
        made.close()
        assert statement.state == "FAILED", statement
        return str(statement.reason)

    assert failure(service(timeout_seconds=0.2), ENDLESS).startswith("EXCEEDED_TIME_LIMIT")
    hungry = (
        "SELECT cardinality(array_agg(concat(CAST(x * y AS varchar), rpad('x', 500, 'y')))) "
        "FROM UNNEST(sequence(1, 1000)) t(x) CROSS JOIN UNNEST(sequence(1, 500)) u(y)"
    )
    assert failure(service(memory_bytes=40 << 20, spill_bytes=1 << 20), hungry).startswith("EXCEEDED_")
    assert failure(service(result_bytes=1000), "SELECT * FROM flights").startswith("EXCEEDED_RESULT_LIMIT")
    assert failure(service(max_files=5), "SELECT * FROM flights").startswith("EXCEEDED_RESULT_LIMIT")
    full = service(workers=1, queue=1)
    ids = [full.start(StatementRequest(sql=ENDLESS)) for _ in range(2)]
    with pytest.raises(TooManyRequests):
        full.start(StatementRequest(sql="SELECT 1"))
    full.stop(ids[1])
    assert full.get(ids[1]).state == "CANCELLED"
    full.close()
    assert full.get(ids[0]).state == "FAILED"


def test_a_catalog_that_breaks_fails_the_statement_and_not_the_service(
    service: QueryService, lake: Lake, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = Event()

    def broken(*_: object) -> object:
        called.set()
        raise RuntimeError("a defect")

    monkeypatch.setattr(lake.catalog, "table", broken)
    statement = ask("SELECT 1 FROM flights")
    assert called.is_set()
    assert statement.reason == "GENERIC_INTERNAL_ERROR: The engine failed: RuntimeError."
    assert ask("SELECT 1").state == "SUCCEEDED"


def test_lost_statements_are_failed_once(service: QueryService, ask: Ask) -> None:
    done = ask("SELECT 1")
    lost = replace(
        done,
        id=StatementId("lost"),
        token=None,
        state=StatementState.RUNNING,
        owner=f"{service._owner.split(':')[0]}:999999999:x",
        completed=None,
    )
    service._store.add(lost)
    assert service.recover() == 1
    assert service.recover() == 0
    found = service.get("lost")
    assert found.state == "FAILED"
    assert found.failure is not None
    assert found.failure.retryable
