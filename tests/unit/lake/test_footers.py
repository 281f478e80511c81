"""Rows and nulls as Parquet's own footers say them, against the rows themselves."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.lake.footers import read_counts
from penstock.lake.local_files import LocalFiles


def write(path: Path, table: pa.Table, **options: object) -> str:
    pq.write_table(table, path, **options)
    return str(path)


def test_rows_and_nulls_are_added_over_files_and_row_groups(tmp_path: Path) -> None:
    table = pa.table({"id": range(10), "name": ["a", None] * 5, "never": pa.nulls(10, pa.string())})
    paths = [write(tmp_path / f"{n}.parquet", table, row_group_size=3) for n in range(2)]
    (tmp_path / "_SUCCESS").touch()
    counts = read_counts(LocalFiles(), [*paths, f"{tmp_path}/_SUCCESS"], ["id", "name", "never"])
    assert (counts.rows, counts.nulls, counts.unknown) == (20, {"id": 0, "name": 10, "never": 20}, ())


def test_a_column_without_statistics_is_unknown_and_others_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"id": [1, 2], "name": ["a", None]}), write_statistics=["id"])
    counts = read_counts(LocalFiles(), [path], ["id", "name", "missing"])
    assert (counts.nulls, counts.unknown) == ({"id": 0}, ("missing", "name"))


def test_a_footer_longer_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    columns = {f"column_{number:04d}": [None, number] for number in range(1500)}
    path = write(tmp_path / "wide.parquet", pa.table(columns))
    assert pq.read_metadata(path).serialized_size > 64 * 1024
    counts = read_counts(LocalFiles(), [path], columns)
    assert counts.nulls == dict.fromkeys(columns, 1)


def test_many_files_are_read_at_once(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.parquet", pa.table({"id": [n, None]})) for n in range(40)]
    counts = read_counts(LocalFiles(), paths, ["id"])
    assert (counts.rows, counts.nulls) == (80, {"id": 40})


def test_no_files_have_no_rows(tmp_path: Path) -> None:
    counts = read_counts(LocalFiles(), [], ["id"])
    assert (counts.rows, counts.nulls) == (0, {"id": 0})


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_counts(LocalFiles(), [f"{tmp_path}/gone.parquet"], [])
