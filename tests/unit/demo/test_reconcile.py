"""The reconciliation has to notice every way in which a record can go wrong."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.demo.reconcile import compare_rows, expected_rows, read_rows, reconcile
from penstock.errors import DataProblem

SOURCE = pa.table(
    {"id": pa.array([0, 1, 2, 3], pa.int64()), "month": pa.array([1, 1, 2, 2], pa.int32()), "temp": [1.0, None, 3.0, 4.0]}
)


def test_equal_tables_in_another_order_have_no_difference() -> None:
    assert compare_rows(SOURCE, SOURCE.take([3, 1, 0, 2]), "id") == []


@pytest.mark.parametrize(
    ("actual", "says"),
    [
        (SOURCE.slice(1), "1 records were lost, id 0"),
        (pa.concat_tables([SOURCE, SOURCE.slice(2, 1)]), "1 records were written more than once, id 2"),
        (
            pa.concat_tables([SOURCE, SOURCE.slice(3).set_column(0, "id", [pa.array([9], pa.int64())])]),
            "1 records were never sent, id 9",
        ),
        (
            SOURCE.set_column(2, "temp", [[1.0, None, None, 4.0]]),
            "column temp: 1 values differ, first at id 2: sent 3.0, read None",
        ),
        (
            SOURCE.set_column(2, "temp", [[1.0, 2.0, 3.0, 4.0]]),
            "column temp: 1 values differ, first at id 1: sent None, read 2.0",
        ),
    ],
)
def test_each_kind_of_damage_is_named(actual: pa.Table, says: str) -> None:
    assert any(says in difference for difference in compare_rows(SOURCE, actual, "id"))


def test_fields_of_a_later_version_are_null_for_records_of_the_first() -> None:
    rows = expected_rows(SOURCE, pa.chunked_array([[1, 1, 2, 1]]), ["temp"])
    assert rows["temp"].to_pylist() == [None, None, 3.0, None]


def test_rows_are_read_with_partition_values_and_without_hidden_folders(tmp_path: Path) -> None:
    for month in (1, 2):
        part = SOURCE.filter(pa.compute.equal(SOURCE["month"], month)).drop_columns(["month"])
        (tmp_path / f"month={month}").mkdir()
        pq.write_table(part, tmp_path / f"month={month}" / "part-0.parquet")
    (tmp_path / "_penstock").mkdir()
    pq.write_table(SOURCE, tmp_path / "_penstock" / "staged.parquet")
    assert compare_rows(SOURCE, read_rows(tmp_path, SOURCE.schema, ["month"]), "id") == []


def test_dead_letters_balance_to_the_byte() -> None:
    sent = {("t", 0, 1): b"a", ("t", 0, 2): b"b"}
    assert reconcile(SOURCE, SOURCE, key="id", dead_sent=sent, dead_read=sent, dead_rows=2).differences == []
    short = reconcile(SOURCE, SOURCE, key="id", dead_sent=sent, dead_read={("t", 0, 1): b"x"}, dead_rows=2)
    assert len(short.differences) == 3
    with pytest.raises(DataProblem, match="bytes of 1 dead letters changed"):
        short.check()
