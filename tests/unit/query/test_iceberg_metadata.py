"""What statements tell of Iceberg tables: metadata tables, hidden columns, SHOW and DESCRIBE, EXPLAIN."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.query.execution.children import ChildPool
from tests.unit.query.iceberg_world import World, world


@pytest.fixture
def made(tmp_path: Path, children: ChildPool) -> Iterator[World]:
    with world(tmp_path / "lake", children) as item:
        item.run(
            "CREATE TABLE t (id bigint COMMENT 'key', k string, day date) PARTITIONED BY (k, bucket(2, id), month(day)) "
            "LOCATION 's3://lake/tables/t/' TBLPROPERTIES ('table_type'='ICEBERG', 'write_compression'='gzip', "
            "'vacuum_max_snapshot_age_seconds'='100')"
        )
        yield item


def test_metadata_tables(made: World) -> None:
    assert made.rows('SELECT * FROM "t$history"') == []
    made.run("INSERT INTO t VALUES (1, 'x', DATE '2024-05-06'), (2, NULL, DATE '2024-05-07')")
    made.run("DELETE FROM t WHERE id = 1 AND k = 'gone'")
    made.run("INSERT INTO t VALUES (3, 'x', DATE '2024-06-01')")
    metadata = made.table("t").metadata
    first, second = metadata.snapshots
    assert made.rows('SELECT snapshot_id, parent_id, is_current_ancestor FROM "t$history" ORDER BY made_current_at') == [
        [str(first.snapshot_id), None, "true"],
        [str(second.snapshot_id), str(first.snapshot_id), "true"],
    ]
    assert made.rows("SELECT operation, summary['added-records'] FROM \"t$snapshots\" ORDER BY committed_at") == [
        ["append", "2"],
        ["append", "1"],
    ]
    assert made.rows('SELECT name, type, snapshot_id FROM "db"."t$refs"') == [["main", "BRANCH", str(second.snapshot_id)]]
    assert made.rows('SELECT sum(added_rows_count), count(*) FROM "t$manifests"') == [["3", "2"]]
    assert made.rows('SELECT partition_summaries[1].lower_bound FROM "t$manifests" WHERE added_rows_count = 1') == [["x"]]
    files = sorted(plan_file.file.file_path for plan_file in made.table("t").scan().plan_files())
    assert [row[0] for row in made.rows('SELECT file_path FROM "t$files" ORDER BY 1')] == files
    assert made.rows('SELECT sum(record_count), max(lower_bounds[1]) FROM "t$files"') == [["3", "3"]]
    partitions = made.rows(
        'SELECT partition.k, partition.day_month, record_count, file_count FROM "t$partitions" ORDER BY 2, 1'
    )
    assert sorted(partitions, key=str) == sorted(
        [["x", "652", "1", "1"], [None, "652", "1", "1"], ["x", "653", "1", "1"]], key=str
    )
    assert made.rows(f'SELECT count(*) FROM "t$files" FOR VERSION AS OF {first.snapshot_id}') == [["2"]]
    assert "does not exist" in str(made.ask('SELECT * FROM "t$nothing"').reason)


def test_the_file_of_a_row(made: World) -> None:
    made.run("INSERT INTO t VALUES (1, 'x', DATE '2024-05-06')")
    (file,) = (plan_file.file.file_path for plan_file in made.table("t").scan().plan_files())
    assert made.rows('SELECT id, "$path" FROM t') == [["1", file]]
    assert made.rows("SELECT * FROM t") == [["1", "x", "2024-05-06"]]
    assert made.rows(f"SELECT count(*) FROM t WHERE \"$path\" = '{file}'") == [["1"]]


def test_show_create_table_makes_the_same_table(made: World) -> None:
    lines = [row[0] for row in made.rows("SHOW CREATE TABLE t")]
    assert lines == [
        "CREATE TABLE db.t (",
        "  `id` bigint COMMENT 'key', ",
        "  `k` string, ",
        "  `day` date)",
        "PARTITIONED BY (`k`, bucket(2, `id`), month(`day`))",
        "LOCATION 's3://lake/tables/t'",
        "TBLPROPERTIES (",
        "  'table_type'='iceberg', ",
        "  'vacuum_max_snapshot_age_seconds'='100', ",
        "  'write_compression'='gzip')",
    ]
    before = made.table("t")
    made.run("DROP TABLE t")
    made.run("\n".join(str(line) for line in lines))
    after = made.table("t")
    assert (after.schema(), after.spec(), after.properties) == (before.schema(), before.spec(), before.properties)


def test_columns_of_earlier_schemas_are_not_shown(made: World) -> None:
    made.run("ALTER TABLE t ADD COLUMNS (extra int)")
    made.run("ALTER TABLE t DROP COLUMN extra")
    assert [row[0].strip() for row in made.rows("SHOW COLUMNS IN t") if row[0]] == ["id", "k", "day"]
    assert not any("extra" in str(row) for row in made.rows("DESCRIBE t"))


def test_explain_says_how_rows_are_read(made: World) -> None:
    made.run("INSERT INTO t VALUES (1, 'x', DATE '2024-05-06'), (2, 'x', DATE '2024-05-06'), (4, 'x', DATE '2024-05-06')")
    made.run("DELETE FROM t WHERE id = 2")
    text = "\n".join(str(row[0]) for row in made.rows("EXPLAIN SELECT * FROM t WHERE k = 'x'"))
    assert "of Iceberg table db.t" in text
    assert "without the rows of 1 files of position deletes" in text
    assert "planned with pyiceberg from" in text
    text = "\n".join(str(row[0]) for row in made.rows('EXPLAIN SELECT * FROM "t$files"'))
    assert "rows of the metadata of db.t$files" in text
