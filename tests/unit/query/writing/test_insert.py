"""INSERT INTO: what fits, where files go, and that readers see all of a statement or nothing."""

import os
from pathlib import Path

import pytest

from penstock.catalog.service import CatalogService
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.writing.test_create_table_as import EVERYTHING, READ, files


@pytest.mark.parametrize("form", ["PARQUET", "ORC", "AVRO", "JSON", "TEXTFILE"])
def test_rows_are_added_in_the_tables_format(done: Ask, rows: Rows, form: str) -> None:
    done(f"CREATE TABLE t WITH (format='{form}') AS {EVERYTHING} WITH NO DATA")
    assert done(f"INSERT INTO t {EVERYTHING}").statistics.update_count == 2
    assert done("INSERT INTO t SELECT * FROM t WHERE i = 3").statistics.update_count == 1
    assert rows("SELECT * FROM t ORDER BY i NULLS LAST", database="db") == [READ, READ, [None] * len(READ)]


def test_values_and_lists_of_columns(done: Ask, rows: Rows) -> None:
    done("CREATE TABLE t AS SELECT 1 AS x, 1.5E0 AS d, 'a' AS s, DATE '2024-01-01' AS y WITH NO DATA")
    done("INSERT INTO t VALUES (1, 2, 'x', NULL), (2, 2.5, NULL, DATE '2024-02-29')")
    done("INSERT INTO t (s, x) VALUES ('only', 3)")
    done("INSERT INTO db.t (x, d) SELECT 4, 5")
    done("INSERT INTO db.t (d, x) (SELECT d, x + 1 FROM t WHERE x = 4)")
    assert rows("SELECT * FROM t ORDER BY x", database="db") == [
        ["1", "2.0", "x", None],
        ["2", "2.5", None, "2024-02-29"],
        ["3", None, "only", None],
        ["4", "5.0", None, None],
        ["5", "5.0", None, None],
    ]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("INSERT INTO t VALUES ('1', 's')", "TYPE_MISMATCH: Insert query has mismatched column types: Table: [int, string]"),
        ("INSERT INTO t VALUES (1)", "TYPE_MISMATCH"),
        ("INSERT INTO t VALUES (1.5E0, 's')", "TYPE_MISMATCH"),
        ("INSERT INTO t VALUES (5000000000, 's')", "TYPE_MISMATCH"),
        ("INSERT INTO t SELECT 1, ST_Point(1, 2)", "TYPE_MISMATCH"),
        ("INSERT INTO t (x, y) VALUES (1, 2)", "COLUMN_NOT_FOUND: Insert column name does not exist in target table: y"),
        ("INSERT INTO nothing VALUES (1)", "TABLE_NOT_FOUND"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(done: Ask, refused: Ask, rows: Rows, sql: str, reason: str) -> None:
    done("CREATE TABLE t AS SELECT 1 AS x, 'a' AS s")
    assert (refused(sql).reason or "").startswith(reason)
    assert rows("SELECT * FROM t", database="db") == [["1", "a"]]


def test_partitions_that_are_new_are_registered_and_others_keep_their_place(
    done: Ask, rows: Rows, lake: Lake, catalog: CatalogService
) -> None:
    done("CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (p string) STORED AS PARQUET LOCATION 's3://lake/t/'")
    done("ALTER TABLE t ADD PARTITION (p='old') LOCATION 's3://lake/elsewhere/'")
    done("INSERT INTO t VALUES (1, 'old'), (2, 'new'), (3, NULL)")
    locations = {partition.values[0]: partition.storage.location for partition in catalog.partitions("db", "t")}
    assert locations == {
        "old": "s3://lake/elsewhere/",
        "new": "s3://lake/t/p=new",
        "__HIVE_DEFAULT_PARTITION__": "s3://lake/t/p=__HIVE_DEFAULT_PARTITION__",
    }
    assert len(files(lake, "elsewhere")) == 1
    assert rows("SELECT x, p FROM t ORDER BY x", database="db") == [["1", "old"], ["2", "new"], ["3", None]]


def test_rows_in_several_places_become_visible_at_once(done: Ask, rows: Rows, lake: Lake) -> None:
    done("CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (p int) STORED AS PARQUET LOCATION 's3://lake/t/'")
    done("INSERT INTO t VALUES (1, 1), (2, 2)")
    (committed,) = (lake.folder.root / "lake/t/_penstock/sql/ledger").glob("*/*.committed")
    assert rows("SELECT count(*) FROM t", database="db") == [["2"]]
    hidden = committed.with_name("hidden")
    committed.rename(hidden)
    assert rows("SELECT count(*) FROM t", database="db") == [["0"]]
    hidden.rename(committed)
    assert rows("SELECT count(*) FROM t", database="db") == [["2"]]


def test_old_entries_of_the_ledger_are_removed_and_their_rows_still_count(done: Ask, rows: Rows, lake: Lake) -> None:
    done("CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (p int) STORED AS PARQUET LOCATION 's3://lake/t/'")
    done("INSERT INTO t VALUES (1, 1), (2, 2)")
    ledger = lake.folder.root / "lake/t/_penstock/sql/ledger"
    (committed,) = ledger.glob("*/*.committed")
    done("INSERT INTO t VALUES (3, 3), (4, 4)")
    assert len(list(ledger.glob("*/*.committed"))) == 2
    os.utime(committed, (0, 0))
    done("INSERT INTO t VALUES (5, 5), (6, 6)")
    assert len(list(ledger.glob("*/*.committed"))) == 2
    assert list(committed.parent.iterdir()) == []
    assert rows("SELECT count(*), sum(x) FROM t", database="db") == [["6", "21"]]


def test_one_file_in_a_place_needs_no_ledger(done: Ask, lake: Lake) -> None:
    done("CREATE EXTERNAL TABLE t (x int) STORED AS PARQUET LOCATION 's3://lake/t/'")
    done("INSERT INTO t VALUES (1), (2)")
    assert [path.name for path in Path(lake.folder.root / "lake/t").iterdir()] == [files(lake, "t")[0].name]


def test_tables_whose_rows_cannot_be_written_are_refused(done: Ask, refused: Ask) -> None:
    done(
        "CREATE EXTERNAL TABLE c (x string) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' "
        "STORED AS TEXTFILE LOCATION 's3://lake/c/'"
    )
    assert (refused("INSERT INTO c VALUES ('a')").reason or "").startswith("NOT_SUPPORTED: Rows cannot be written to 'db.c'")
    done("CREATE EXTERNAL TABLE b (x int) CLUSTERED BY (x) INTO 2 BUCKETS STORED AS PARQUET LOCATION 's3://lake/b/'")
    assert "it is bucketed" in (refused("INSERT INTO b VALUES (1)").reason or "")
    done("CREATE EXTERNAL TABLE d (x int) STORED AS PARQUET LOCATION 's3://lake/d/' TBLPROPERTIES ('table_type'='delta')")
    assert "is a Delta table, which is only read" in (refused("INSERT INTO d VALUES (1)").reason or "")
