"""Iceberg tables that statements write, read by pyiceberg."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from penstock.query.execution.children import ChildPool
from tests.unit.query.iceberg_world import World, world


@pytest.fixture
def made(tmp_path: Path, children: ChildPool) -> Iterator[World]:
    with world(tmp_path / "lake", children) as item:
        yield item


def _create(made: World, columns: str = "id bigint, name string", clauses: str = "", properties: str = "") -> None:
    made.run(
        f"CREATE TABLE t ({columns}) {clauses} LOCATION 's3://lake/tables/t/' "
        f"TBLPROPERTIES ('table_type'='ICEBERG'{properties})"
    )


def test_create_table_is_an_empty_table_for_pyiceberg(made: World) -> None:
    _create(
        made,
        "id bigint COMMENT 'the key', at timestamp, "
        "tags array<string>, props map<string,struct<a:int>>, price decimal(10,2)",
        "PARTITIONED BY (day(at), bucket(4, id), truncate(3, id))",
        ", 'write_compression'='snappy', 'vacuum_max_snapshot_age_seconds'='60'",
    )
    table = made.table("t")
    assert str(table.spec()).split("\n")[1:4] == [
        "  1000: at_day: day(2)",
        "  1001: id_bucket: bucket[4](1)",
        "  1002: id_trunc: truncate[3](1)",
    ]
    assert [str(field.field_type) for field in table.schema().fields] == [
        "long",
        "timestamp",
        "list<string>",
        "map<string, struct<9: a: optional int>>",
        "decimal(10, 2)",
    ]
    assert table.schema().find_field("id").doc == "the key"
    assert table.properties["write.parquet.compression-codec"] == "snappy"
    assert table.properties["history.expire.max-snapshot-age-ms"] == "60000"
    assert table.metadata.format_version == 2
    assert made.rows("SELECT * FROM t") == []
    stored = made.catalog.table("db", "t")
    assert stored.storage.columns[0].type == "bigint"
    assert stored.storage.columns[0].parameters["iceberg.field.id"] == "1"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE t (a int) TBLPROPERTIES ('table_type'='ICEBERG')", "Table location must be specified"),
        (
            "CREATE EXTERNAL TABLE t (a int) LOCATION 's3://lake/x/' TBLPROPERTIES ('table_type'='ICEBERG')",
            "External keyword",
        ),
        ("CREATE TABLE t (a tinyint) LOCATION 's3://lake/x/' TBLPROPERTIES ('table_type'='ICEBERG')", "Type not supported"),
        (
            "CREATE TABLE t (a int) LOCATION 's3://lake/x/' TBLPROPERTIES ('table_type'='ICEBERG', 'foo'='1')",
            "Unsupported table property key: foo",
        ),
        (
            "CREATE TABLE t (a int) LOCATION 's3://lake/x/' TBLPROPERTIES ('table_type'='ICEBERG', 'format'='orc')",
            "format orc are not written",
        ),
        (
            "CREATE TABLE t (a int) PARTITIONED BY (b) LOCATION 's3://lake/x/' TBLPROPERTIES ('table_type'='ICEBERG')",
            "'b' is not a column",
        ),
    ],
)
def test_tables_that_athena_does_not_make(made: World, sql: str, reason: str) -> None:
    assert reason in str(made.ask(sql).reason)


def test_create_of_an_existing_table(made: World) -> None:
    _create(made)
    again = "TABLE {} t (id int) LOCATION 's3://lake/tables/u/' TBLPROPERTIES ('table_type'='ICEBERG')"
    assert "already exists" in str(made.ask(f"CREATE {again.format('')}").reason)
    assert made.ask(f"CREATE {again.format('IF NOT EXISTS')}").state == "SUCCEEDED"
    assert len(made.table("t").schema().fields) == 2


def test_insert(made: World) -> None:
    _create(made)
    first = made.run("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    made.run("INSERT INTO t (name, id) SELECT upper(name), id + 10 FROM t WHERE id = 1")
    made.run("INSERT INTO t (id) VALUES (3)")
    assert made.read("t") == [
        {"id": 1, "name": "a"},
        {"id": 11, "name": "A"},
        {"id": 2, "name": None},
        {"id": 3, "name": None},
    ]
    assert made.rows("SELECT id, name FROM t ORDER BY id") == [["1", "a"], ["2", None], ["3", None], ["11", "A"]]
    assert first.type == "DML"
    summary = made.summary("t")
    assert (summary["total-records"], summary["total-data-files"]) == ("4", "3")


def test_insert_of_all_types(made: World) -> None:
    columns = (
        "b boolean, i int, l bigint, f float, d double, n decimal(12,3), s string, x binary, day date, ts timestamp, "
        "arr array<int>, m map<string,int>, r struct<a:int,b:string>"
    )
    _create(made, columns)
    made.run(
        "INSERT INTO t VALUES (true, 1, 2, REAL '1.5', 2.5E0, DECIMAL '1.250', 'x', X'01ff', DATE '2024-01-02', "
        "TIMESTAMP '2024-01-02 03:04:05.678901', ARRAY[1, NULL], MAP(ARRAY['k'], ARRAY[7]), "
        "CAST(ROW(5, 'z') AS ROW(a integer, b varchar)))"
    )
    made.run("INSERT INTO t (b) VALUES (NULL)")
    full = next(row for row in made.read("t") if row["i"] == 1)
    assert full["ts"] == datetime(2024, 1, 2, 3, 4, 5, 678901)
    assert (full["day"], full["x"], str(full["n"])) == (date(2024, 1, 2), b"\x01\xff", "1.250")
    assert (full["arr"], full["m"], full["r"]) == ([1, None], [("k", 7)], {"a": 5, "b": "z"})


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("INSERT INTO t VALUES ('x', 'a')", "TYPE_MISMATCH"),
        ("INSERT INTO t VALUES (1)", "has 1 expression(s) but expected 2"),
        ("INSERT INTO t (nope) VALUES (1)", "COLUMN_NOT_FOUND"),
        ("INSERT INTO t VALUES (1.5, 'a')", "TYPE_MISMATCH"),
        ("DELETE FROM gone", "TABLE_NOT_FOUND"),
        ("UPDATE t SET nope = 1", "COLUMN_NOT_FOUND"),
    ],
)
def test_statements_that_do_not_fit_change_nothing(made: World, sql: str, reason: str) -> None:
    _create(made)
    before = made.files("t")
    assert reason in str(made.ask(sql).reason)
    assert made.files("t") == before


def test_insert_into_partitions(made: World) -> None:
    _create(made, "id bigint, at timestamp, k string", "PARTITIONED BY (month(at), k, bucket(2, id))")
    made.run(
        "INSERT INTO t SELECT n, TIMESTAMP '2024-01-01 00:00:00' + n * INTERVAL '20' DAY, "
        "CASE WHEN n % 2 = 0 THEN 'even' END FROM UNNEST(sequence(1, 6)) s (n)"
    )
    table = made.table("t")
    partitions = sorted(str(plan_file.file.partition) for plan_file in table.scan().plan_files())
    assert len(partitions) == len(set(partitions)) > 3
    scan = table.scan("k = 'even' and at >= '2024-02-01T00:00:00'")
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [2, 4, 6]
    assert made.run("SELECT * FROM t WHERE k = 'even' AND id = 4").statistics.files_scanned == 1
    assert sorted(row["id"] for row in made.read("t")) == [1, 2, 3, 4, 5, 6]


def test_too_many_partitions_are_refused_by_name(made: World) -> None:
    _create(made, "id bigint", "PARTITIONED BY (id)")
    statement = made.ask("INSERT INTO t SELECT n FROM UNNEST(sequence(1, 101)) s (n)")
    assert "ICEBERG_TOO_MANY_OPEN_PARTITIONS" in str(statement.reason)


def test_create_table_as(made: World) -> None:
    made.run(
        "CREATE TABLE u WITH (table_type = 'ICEBERG', is_external = false, location = 's3://lake/tables/u/', "
        "partitioning = ARRAY['bucket(id, 2)', 'day(at)'], format = 'PARQUET', write_compression = 'GZIP') AS "
        "SELECT n AS id, TIMESTAMP '2024-01-01 10:00:00' AS at, 'x' AS name, sum(n) AS total "
        "FROM UNNEST(sequence(1, 3)) s (n) GROUP BY n"
    )
    table = made.table("u")
    assert [str(field.field_type) for field in table.schema().fields][1:] == ["timestamp", "string", "long"]
    assert len(table.metadata.snapshots) == 1
    assert [row["total"] for row in made.read("u")] == [1, 2, 3]
    assert made.rows("SELECT count(*) FROM u WHERE at = TIMESTAMP '2024-01-01 10:00:00'") == [["3"]]
    made.run(
        "CREATE TABLE w WITH (table_type = 'ICEBERG', is_external = false, location = 's3://lake/tables/w/') AS "
        "SELECT * FROM u WITH NO DATA"
    )
    assert made.rows("SELECT count(*) FROM w") == [["0"]]
    assert made.read("w") == []
    made.run("INSERT INTO w SELECT * FROM u")
    assert made.read("w") == made.read("u")
    refused = made.ask("CREATE TABLE v WITH (table_type = 'ICEBERG', location = 's3://lake/v/') AS SELECT 1 a")
    assert "is_external = false" in str(refused.reason)


def test_delete(made: World) -> None:
    _create(made)
    made.run("INSERT INTO t SELECT n, 'n' || CAST(n AS varchar) FROM UNNEST(sequence(1, 6)) s (n)")
    made.run("INSERT INTO t VALUES (7, 'n7')")
    made.run("DELETE FROM t WHERE id IN (2, 3)")
    made.run("DELETE FROM t AS x WHERE x.id = 4")
    assert [row["id"] for row in made.read("t")] == [1, 5, 6, 7]
    assert made.rows("SELECT id FROM t ORDER BY 1") == [["1"], ["5"], ["6"], ["7"]]
    summary = made.summary("t")
    assert summary["total-position-deletes"] == "3"
    made.run("DELETE FROM t WHERE name = 'n7'")
    assert len(list(made.table("t").scan().plan_files())) == 1
    made.run("DELETE FROM t")
    assert made.read("t") == []
    assert made.rows("SELECT count(*) FROM t") == [["0"]]
    assert made.run("DELETE FROM t").state == "SUCCEEDED"


def test_update(made: World) -> None:
    _create(made, "id bigint, name string, k string", "PARTITIONED BY (k)")
    made.run("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
    made.run("UPDATE t SET name = name || '!', k = 'z' WHERE id >= 2")
    assert made.read("t") == [
        {"id": 1, "name": "a", "k": "x"},
        {"id": 2, "name": "b!", "k": "z"},
        {"id": 3, "name": "c!", "k": "z"},
    ]
    made.run("UPDATE t SET id = id + (SELECT max(id) FROM t) WHERE name IN (SELECT name FROM t WHERE k = 'x')")
    assert made.rows("SELECT id, name FROM t ORDER BY id") == [["2", "b!"], ["3", "c!"], ["4", "a"]]


def test_merge(made: World) -> None:
    _create(made)
    made.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    made.run(
        "MERGE INTO t AS target USING (VALUES (1, 'A', false), (2, 'gone', true), (9, 'new', false), (10, 'no', true)) "
        "AS source (id, name, remove) ON target.id = source.id "
        "WHEN MATCHED AND source.remove THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = source.name || target.name "
        "WHEN NOT MATCHED AND NOT source.remove THEN INSERT (id, name) VALUES (source.id, source.name)"
    )
    assert made.rows("SELECT id, name FROM t ORDER BY id") == [["1", "Aa"], ["3", "c"], ["9", "new"]]
    assert made.read("t") == [{"id": 1, "name": "Aa"}, {"id": 3, "name": "c"}, {"id": 9, "name": "new"}]
    twice = made.ask(
        "MERGE INTO t USING (VALUES (1, 'x'), (1, 'y')) AS s (id, name) ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name"
    )
    assert "MERGE_TARGET_ROW_MULTIPLE_MATCHES" in str(twice.reason)
    assert made.rows("SELECT count(*) FROM t WHERE name IN ('x', 'y')") == [["0"]]


def test_other_tables_refuse_what_only_iceberg_has(made: World) -> None:
    made.operations.change(
        "CreateTable",
        {
            "DatabaseName": "db",
            "TableInput": {"Name": "h", "StorageDescriptor": {"Location": "s3://lake/h/", "Columns": []}},
        },
    )
    assert "is for Iceberg tables" in str(made.ask("DELETE FROM h").reason)
