"""ALTER TABLE, DROP TABLE, OPTIMIZE and VACUUM of Iceberg tables, and commits that meet."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.query.execution.children import ChildPool
from tests.unit.query.iceberg_world import World, world


@pytest.fixture
def made(tmp_path: Path, children: ChildPool) -> Iterator[World]:
    with world(tmp_path / "lake", children) as item:
        item.run(
            "CREATE TABLE t (id int, name string, price decimal(5,2)) LOCATION 's3://lake/tables/t/' "
            "TBLPROPERTIES ('table_type'='ICEBERG')"
        )
        yield item


def test_columns_change_without_new_files(made: World) -> None:
    made.run("INSERT INTO t VALUES (1, 'a', 1.50)")
    files = {file for file in made.files("t") if file.endswith(".parquet")}
    made.run("ALTER TABLE t ADD COLUMNS (tags array<string> COMMENT 'labels', extra struct<x:int>)")
    made.run("ALTER TABLE t CHANGE COLUMN id key bigint")
    made.run("ALTER TABLE t CHANGE COLUMN price price decimal(9,2) FIRST")
    made.run("ALTER TABLE t DROP COLUMN name")
    made.run("ALTER TABLE t ADD COLUMNS (name string)")
    made.run("INSERT INTO t (key, name) VALUES (4000000000, 'b')")
    assert made.rows("SELECT * FROM t ORDER BY key") == [
        ["1.50", "1", None, None, None],
        [None, "4000000000", None, None, "b"],
    ]
    assert [row["key"] for row in sorted(made.read("t"), key=lambda row: row["key"])] == [1, 4_000_000_000]
    assert files < made.files("t")
    assert [(column.name, column.type) for column in made.catalog.table("db", "t").storage.columns][:2] == [
        ("price", "decimal(9,2)"),
        ("key", "bigint"),
    ]


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("ADD COLUMNS (ID int)", "already exists"),
        ("DROP COLUMN gone", "does not exist"),
        ("CHANGE COLUMN id id string", "Cannot change column type"),
        ("CHANGE COLUMN price price decimal(9,3)", "Cannot change column type"),
        ("REPLACE COLUMNS (a int)", "not for Iceberg tables"),
        ("SET LOCATION 's3://lake/other/'", "not for Iceberg tables"),
        ("SET TBLPROPERTIES ('foo'='bar')", "Unsupported table property key: foo"),
        ("UNSET TBLPROPERTIES ('format')", "does not exist"),
    ],
)
def test_changes_that_are_refused(made: World, action: str, reason: str) -> None:
    assert reason in str(made.ask(f"ALTER TABLE t {action}").reason)


def test_properties(made: World) -> None:
    made.run("ALTER TABLE t SET TBLPROPERTIES ('vacuum_min_snapshots_to_keep'='3', 'write_compression'='gzip')")
    assert made.table("t").properties["history.expire.min-snapshots-to-keep"] == "3"
    made.run("ALTER TABLE t UNSET TBLPROPERTIES ('vacuum_min_snapshots_to_keep')")
    assert "history.expire.min-snapshots-to-keep" not in made.table("t").properties


def test_rename_and_drop(made: World) -> None:
    made.run("INSERT INTO t VALUES (1, 'a', NULL)")
    files = made.files("t")
    made.run("ALTER TABLE t RENAME TO u")
    assert made.rows("SELECT id FROM u") == [["1"]]
    assert "does not exist" in str(made.ask("SELECT * FROM t").reason)
    made.run("DROP TABLE u")
    assert not any((made.root / file.removeprefix("s3://")).exists() for file in files)
    assert made.ask("DROP TABLE IF EXISTS u").state == "SUCCEEDED"


def test_optimize_packs_files_and_applies_deletes(made: World) -> None:
    for number in range(6):
        made.run(f"INSERT INTO t VALUES ({number}, 'n', NULL), ({number + 10}, 'm', NULL)")
    made.run("DELETE FROM t WHERE id IN (1, 12)")
    expected = made.read("t")
    made.run("OPTIMIZE t REWRITE DATA USING BIN_PACK")
    tasks = list(made.table("t").scan().plan_files())
    assert len(tasks) == 1
    assert not tasks[0].delete_files
    assert made.read("t") == expected
    assert len(made.rows("SELECT * FROM t")) == 10
    summary = made.summary("t")
    assert (summary["total-data-files"], summary["total-delete-files"]) == ("1", "0")
    snapshots = len(made.table("t").metadata.snapshots)
    made.run("OPTIMIZE t REWRITE DATA USING BIN_PACK")
    assert len(made.table("t").metadata.snapshots) == snapshots


def test_optimize_of_some_partitions(made: World) -> None:
    made.run(
        "CREATE TABLE p (id int, k string) PARTITIONED BY (k) LOCATION 's3://lake/tables/p/' "
        "TBLPROPERTIES ('table_type'='ICEBERG', 'optimize_rewrite_data_file_threshold'='2')"
    )
    for number in range(2):
        made.run(f"INSERT INTO p VALUES ({number}, 'x'), ({number}, 'y')")
    made.run("OPTIMIZE p REWRITE DATA USING BIN_PACK WHERE k = 'x'")
    assert len(list(made.table("p").scan().plan_files())) == 3
    assert "not supported" in str(made.ask("OPTIMIZE p REWRITE DATA USING BIN_PACK WHERE id = 1").reason)
    assert len(made.rows("SELECT * FROM p")) == 4


def _aged(made: World, days: float) -> None:
    """Make the table's snapshots and files older, as if its statements had run days ago."""
    location = made.catalog.table("db", "t").parameters["metadata_location"]
    path = made.root / location.removeprefix("s3://")
    document: dict[str, Any] = json.loads(path.read_text())
    for entry in (*document["snapshots"], *document["snapshot-log"], *document["metadata-log"], document):
        name = "last-updated-ms" if entry is document else "timestamp-ms"
        entry[name] -= int(days * 86_400_000)
    path.write_text(json.dumps(document))
    past = time.time() - days * 86_400
    for file in made.files("t"):
        os.utime(made.root / file.removeprefix("s3://"), (past, past))


def test_vacuum(made: World) -> None:
    for number in range(3):
        made.run(f"INSERT INTO t VALUES ({number}, 'n', NULL)")
    made.run("DELETE FROM t WHERE id = 0")
    made.run("OPTIMIZE t REWRITE DATA USING BIN_PACK")
    orphan = made.root / "lake/tables/t/data/orphan.parquet"
    orphan.write_bytes(b"x")
    made.run("VACUUM t")
    assert orphan.exists()
    _aged(made, 6)
    young = made.root / "lake/tables/t/data/young.parquet"
    young.write_bytes(b"x")
    before = made.files("t")
    made.run("VACUUM t")
    table = made.table("t")
    assert len(table.metadata.snapshots) == 1
    assert [row["id"] for row in made.read("t")] == [1, 2]
    assert made.rows("SELECT count(*) FROM t") == [["2"]]
    after = made.files("t")
    assert not orphan.exists()
    assert young.exists()
    assert len([name for name in after if name.endswith(".avro")]) < len([name for name in before if name.endswith(".avro")])


def test_vacuum_keeps_what_running_statements_may_read(made: World) -> None:
    made.run("ALTER TABLE t SET TBLPROPERTIES ('vacuum_max_snapshot_age_seconds'='0')")
    for number in range(3):
        made.run(f"INSERT INTO t VALUES ({number}, 'n', NULL)")
    made.run("VACUUM t")
    assert len(made.table("t").metadata.snapshots) == 3


def test_appends_that_meet_are_both_kept(made: World) -> None:
    """Two statements that run at a time: the second's commit finds the first's, and is made again on it."""
    sql = "INSERT INTO t SELECT CAST(n AS int), 'x', NULL FROM UNNEST(sequence({}, {})) s (n)"
    starts = [made.start(sql.format(at, at + 9)) for at in (0, 10, 20)]
    for start in starts:
        assert made.finish(start).state == "SUCCEEDED"
    assert len(made.read("t")) == 30


def test_updates_that_meet_are_made_again(made: World) -> None:
    made.run("INSERT INTO t VALUES (0, 'x', NULL)")
    starts = [made.start("UPDATE t SET id = id + 1") for _ in range(3)]
    done = [made.finish(start) for start in starts]
    for statement in done:
        assert statement.state == "SUCCEEDED" or "ICEBERG_COMMIT_ERROR" in str(statement.reason)
    succeeded = sum(statement.state == "SUCCEEDED" for statement in done)
    assert made.rows("SELECT id FROM t") == [[str(succeeded)]]


def test_a_stopped_statement_changes_nothing(made: World) -> None:
    made.run("INSERT INTO t VALUES (1, 'a', NULL)")
    before = made.catalog.table("db", "t")
    endless = (
        "SELECT CAST(count(*) AS int), 'x', NULL FROM UNNEST(sequence(1, 10000)) a (n), UNNEST(sequence(1, 10000)) b (n), "
        "UNNEST(sequence(1, 10000)) c (n)"
    )
    statement = made.start(f"INSERT INTO t {endless} WHERE a.n + b.n > 5")
    deadline = time.monotonic() + 60
    while made.service.get(statement).state == "QUEUED":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    made.service.stop(statement)
    assert made.finish(statement).state == "CANCELLED"
    assert made.catalog.table("db", "t") == before
    assert made.read("t") == [{"id": 1, "name": "a", "price": None}]
