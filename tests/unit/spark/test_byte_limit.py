"""The number of records that a limit of bytes allows."""

from penstock.spark.sources.byte_limit import ASSUMED_BYTES, RecordEstimate


def test_it_follows_larger_records_at_once_and_smaller_ones_by_halves() -> None:
    estimate = RecordEstimate(10 * ASSUMED_BYTES)
    assert estimate.records == 10
    estimate.add(100_000, 1_000)
    assert estimate.records == 102
    estimate.add(1_000_000, 1_000)
    assert estimate.records == 10
    estimate.add(100_000, 1_000)
    assert estimate.records == 18
    estimate.add(0, 0)
    assert estimate.records == 18


def test_it_never_stops_the_stream_and_keeps_the_limit_of_records() -> None:
    small, bounded = RecordEstimate(10), RecordEstimate(1_000_000, 50)
    small.add(5_000_000, 1)
    bounded.add(10, 10)
    assert (small.records, bounded.records) == (1, 50)
