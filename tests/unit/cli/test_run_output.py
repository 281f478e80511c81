"""The line of a batch."""

import pytest

from penstock.cli.streams.run_output import batch_line
from penstock.spark.metrics import BatchMetrics


@pytest.mark.parametrize(
    ("before", "lag", "ending"),
    [
        (None, {"records": 9, "seconds": 1.0}, " in 0.5 s"),
        (9, {"records": 9, "seconds": 1.0}, " in 0.5 s"),
        (9, {}, " in 0.5 s"),
        (9, {"records": 1200, "seconds": 75.2}, " in 0.5 s, lag grows: 1,200 records, 75 s behind"),
        (9, {"records": 1200, "seconds": None}, " in 0.5 s, lag grows: 1,200 records behind"),
    ],
)
def test_the_lag_is_shown_when_it_has_grown(before: int | None, lag: dict[str, float | None], ending: str) -> None:
    metrics = BatchMetrics(pipeline="p", query="q", batch=3, rows=5, versions={"1": 5}, seconds={"stage": 0.5}, lag=lag)
    assert batch_line(metrics, before) == f"Batch 3 committed: 5 rows (v1: 5){ending}"
