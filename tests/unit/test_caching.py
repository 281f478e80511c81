"""The cache that threads share: bounded by weight and age, and nothing kept that a change made stale."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.caching import SharedCache


class Clock:
    """Seconds that the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_least_recently_used_goes_first() -> None:
    cache: SharedCache[str, int] = SharedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.peek("a") == 1
    cache.put("c", 3)
    assert (cache.peek("a"), cache.peek("b"), cache.peek("c"), len(cache)) == (1, None, 3, 2)


def test_weights_are_bounded_in_sum() -> None:
    cache: SharedCache[str, str] = SharedCache(10)
    cache.put("a", "A", weight=4)
    cache.put("b", "B", weight=4)
    cache.put("a", "heavier", weight=6)
    assert (cache.peek("a"), cache.peek("b")) == ("heavier", "B")
    cache.put("c", "C", weight=5)
    assert (cache.peek("a"), cache.peek("b"), cache.peek("c")) == (None, "B", "C")


def test_a_value_heavier_than_the_cache_is_not_cached_and_evicts_nothing() -> None:
    cache: SharedCache[str, str] = SharedCache(10)
    cache.put("a", "A", weight=10)
    cache.put("b", "B", weight=11)
    assert (cache.peek("a"), cache.peek("b")) == ("A", None)


def test_values_age_from_before_they_were_read() -> None:
    clock = Clock()
    cache: SharedCache[str, int] = SharedCache(2, seconds=10, clock=clock)

    def slow() -> int:
        clock.seconds = 4.0
        return 1

    assert cache.load("a", slow) == 1
    clock.seconds = 9.9
    assert cache.peek("a") == 1
    clock.seconds = 10.0
    assert cache.peek("a") is None
    assert len(cache) == 0


def test_a_value_that_expired_during_its_read_is_not_cached() -> None:
    clock = Clock()
    cache: SharedCache[str, int] = SharedCache(2, seconds=10, clock=clock)

    def endless() -> int:
        clock.seconds = 10.0
        return 1

    assert cache.load("a", endless) == 1
    assert cache.peek("a") is None


@pytest.mark.parametrize("change", [lambda cache: cache.drop("a"), lambda cache: cache.clear()])
def test_a_value_read_before_a_change_is_not_cached(change: Callable[[SharedCache[str, int]], None]) -> None:
    cache: SharedCache[str, int] = SharedCache(2, seconds=10)

    def read() -> int:
        change(cache)
        return 1

    assert cache.load("a", read) == 1
    assert cache.peek("a") is None
    assert cache.load("a", lambda: 2) == 2
    assert cache.peek("a") == 2


def test_what_is_not_there_any_more_is_forgotten() -> None:
    cache: SharedCache[str, int | None] = SharedCache(2, seconds=10)
    cache.put("a", 1)
    assert cache.load("a", lambda: None) is None
    assert (cache.peek("a"), len(cache)) == (None, 0)


@pytest.mark.parametrize("seconds", [None, 0.0005])
def test_many_threads_share_one(seconds: float | None) -> None:
    cache: SharedCache[int, int] = SharedCache(8, seconds=seconds)

    def work(seed: int) -> None:
        for step in range(2_000):
            key = (seed * 7 + step * 3) % 20
            assert cache.peek(key) in (None, key)
            assert cache.load(key, lambda: key) == key  # noqa: B023 - read at once
            if step % 11 == 0:
                cache.drop(key)
            assert len(cache) <= 8

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_room_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one"):
        SharedCache(0)
