"""Delta tables that deltalake writes."""

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from tests.unit.query.lake_of_flights import Ask, Lake, Rows

ROWS = pa.table(
    {
        "x": pa.array([1, 2, 3], pa.int64()),
        "name": ["a", None, "c"],
        "day": ["2024-01-01", "a b/c", None],
        "nested": [{"items": [1]}, {"items": [2]}, None],
    }
)


@pytest.fixture
def location(lake: Lake) -> str:
    """Return the folder of the table ``d``, which the catalog has."""
    lake.table("d", {"col": "array<string>"}, parameters={"table_type": "DELTA"})
    return str(lake.folder.root / "lake/d")


def test_the_newest_version_is_read_with_the_columns_of_the_log(location: str, rows: Rows) -> None:
    deltalake.write_deltalake(location, ROWS.drop_columns(["day"]))
    more = pa.table({"x": pa.array([4], pa.int64()), "more": [1.5]})
    deltalake.write_deltalake(location, more, mode="append", schema_mode="merge")
    assert rows("SELECT * FROM d ORDER BY x") == [
        ["1", "a", "{items=[1]}", None],
        ["2", None, "{items=[2]}", None],
        ["3", "c", None, None],
        ["4", None, None, "1.5"],
    ]
    deltalake.write_deltalake(location, ROWS.slice(0, 1), mode="overwrite", schema_mode="overwrite")
    assert rows("SELECT x, day, \"$path\" LIKE 's3://lake/d/%.parquet' FROM d") == [["1", "2024-01-01", "true"]]


def test_partitions_are_pruned_by_the_log(location: str, rows: Rows, ask: Ask) -> None:
    deltalake.write_deltalake(location, ROWS, partition_by=["day"])
    assert rows("SELECT x, name, day FROM d ORDER BY x") == [
        ["1", "a", "2024-01-01"],
        ["2", None, "a b/c"],
        ["3", "c", None],
    ]
    statement = ask("SELECT x FROM d WHERE day = 'a b/c'")
    assert (statement.statistics.files_scanned, statement.statistics.partitions_total) == (1, 3)


def test_checkpoints_stand_for_the_commits_before(location: str, rows: Rows) -> None:
    for number in range(3):
        deltalake.write_deltalake(location, pa.table({"x": pa.array([number], pa.int64())}), mode="append")
    table = deltalake.DeltaTable(location)
    table.delete("x = 1")
    table.create_checkpoint()
    deltalake.write_deltalake(location, pa.table({"x": pa.array([9], pa.int64())}), mode="append")
    for version in range(3):
        (deltalake_log(location) / f"{version:020}.json").unlink()
    assert rows("SELECT x FROM d ORDER BY x") == [["0"], ["2"], ["9"]]


def deltalake_log(location: str) -> Path:
    return Path(location) / "_delta_log"


@pytest.mark.parametrize(
    ("action", "what"),
    [
        ({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["variantType"]}}, "variantType"),
        ({"add": {"path": "x", "size": 1, "deletionVector": {"storageType": "u"}}}, "it has deletion vectors"),
        ({"metaData": {"configuration": {"delta.columnMapping.mode": "name"}}}, "mapped to other names"),
    ],
)
def test_what_a_reader_may_not_ignore_is_refused(location: str, ask: Ask, action: dict[str, Any], what: str) -> None:
    deltalake.write_deltalake(location, ROWS)
    (deltalake_log(location) / f"{1:020}.json").write_text(json.dumps(action))
    reason = ask("SELECT * FROM d").reason or ""
    assert reason.startswith("NOT_SUPPORTED: The Delta table 'flights_db.d' cannot be read")
    assert what in reason


def test_a_log_with_a_gap_is_refused(location: str, ask: Ask) -> None:
    assert "does not exist" in (ask("SELECT * FROM d").reason or "")
    for _ in range(3):
        deltalake.write_deltalake(location, ROWS, mode="append")
    (deltalake_log(location) / f"{1:020}.json").unlink()
    assert "has no version 1" in (ask("SELECT * FROM d").reason or "")
