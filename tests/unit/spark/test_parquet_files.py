"""How many tasks and rows a file of a Parquet sink gets, from the size of earlier rows."""

import pytest

from penstock.lake.ledger import Batch, Manifest, Move
from penstock.pipelines import ParquetSink
from penstock.spark.sinks.parquet import records_per_file, row_bytes, task_count

SINK = ParquetSink(location="s3://lk/t", target_file_size=1_000_000)


@pytest.mark.parametrize(
    ("rows", "size", "tasks"),
    [
        (0, None, 1),
        (1_000, None, 1),
        (120_000, None, 3),
        (1_000, 10.0, 1),
        (120_000, 10.0, 2),
        (10_000_000, 10.0, 100),
        (2_000_000, 0.1, 2),
    ],
)
def test_tasks(rows: int, size: float | None, tasks: int) -> None:
    assert task_count(SINK, rows, row_bytes=size, parallelism=2) == tasks


@pytest.mark.parametrize(("size", "records"), [(None, 5_000_000), (10.0, 100_000), (0.01, 5_000_000), (1e9, 1)])
def test_records_of_a_file(size: float | None, records: int) -> None:
    assert records_per_file(SINK, row_bytes=size) == records


def test_the_size_of_a_row_is_the_mean_of_the_last_batches() -> None:
    def batch(number: int, rows: int, size: int) -> Manifest:
        moves = (Move("s", "s3://lk/t/day=1/part-0", size), Move("s", "s3://lk/other/part-0", 10**9))
        return Manifest(batch=Batch(number, "", ""), moves=moves, facts={"sinks": {"sink": {"rows": rows}}})

    assert row_bytes([batch(2, 10, 100), batch(1, 30, 900)], SINK) == 25
    assert row_bytes([], SINK) is None
    assert row_bytes([batch(0, 0, 0)], SINK) is None
