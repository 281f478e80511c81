"""How many pollers a lag asks for, and which dispatcher a key goes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.kafka.mapping import target_pollers
from penstock.functions.kinesis.mapping import dispatcher_of


@pytest.mark.parametrize(
    ("lag", "now", "partitions", "low", "expected"),
    [
        (0, 1, 6, 0, 1),
        (1000, 1, 6, 0, 1),
        (1001, 1, 6, 0, 2),
        (100_000, 1, 6, 0, 4),
        (100_000, 1, 2, 0, 2),
        (0, 4, 6, 2, 4),
        (0, 4, 6, 3, 3),
        (2500, 3, 6, 9, 3),
        (0, 1, 6, 99, 1),
        (0, 4, 2, 0, 3),
    ],
)
def test_pollers_follow_the_lag(lag: int, now: int, partitions: int, low: int, expected: int) -> None:
    assert target_pollers(lag, batch_size=100, now=now, bounds=(1, 4), partitions=partitions, low_looks=low) == expected


@given(
    lag=st.integers(0, 10**9),
    now=st.integers(1, 20),
    least=st.integers(1, 5),
    more=st.integers(0, 10),
    partitions=st.integers(0, 30),
    low=st.integers(0, 5),
)
def test_pollers_stay_within_their_bounds(*, lag: int, now: int, least: int, more: int, partitions: int, low: int) -> None:
    expected = target_pollers(
        lag, batch_size=10, now=now, bounds=(least, least + more), partitions=partitions, low_looks=low
    )
    assert expected >= min(least, now) or expected >= least
    assert expected <= max(now, least, min(least + more, partitions))


@given(key=st.binary(max_size=20), dispatchers=st.integers(1, 10))
def test_a_key_has_one_dispatcher(key: bytes, dispatchers: int) -> None:
    assert 0 <= dispatcher_of(key, dispatchers) < dispatchers
    assert dispatcher_of(key, dispatchers) == dispatcher_of(bytes(key), dispatchers)


def test_keys_spread_over_the_lanes() -> None:
    assert {dispatcher_of(str(number).encode(), 10) for number in range(200)} == set(range(10))
