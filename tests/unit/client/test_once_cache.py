"""The cache: bounded, timed, and each key computed once."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from penstock.client import cache as cache_module
from penstock.client.cache import OnceCache


def test_least_recently_used_goes_first() -> None:
    cache: OnceCache[str, int] = OnceCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.peek("a") == 1
    cache.put("c", 3)
    assert (cache.peek("a"), cache.peek("b"), cache.peek("c"), len(cache)) == (1, None, 3, 2)


def test_values_age() -> None:
    now = [0.0]
    cache: OnceCache[str, int] = OnceCache(2, seconds=10, clock=lambda: now[0])
    assert cache.get("a", lambda: 1) == 1
    now[0] = 9.9
    assert cache.get("a", lambda: 2) == 1
    now[0] = 10.0
    assert cache.get("a", lambda: 2) == 2


def test_many_threads_compute_once() -> None:
    cache: OnceCache[str, object] = OnceCache(2)
    started, release = threading.Event(), threading.Event()
    made: list[object] = []
    results: list[object] = []

    def make() -> object:
        started.set()
        assert release.wait(10)
        made.append(object())
        return made[-1]

    threads = [threading.Thread(target=lambda: results.append(cache.get("a", make))) for _ in range(8)]
    threads[0].start()
    assert started.wait(10)
    for thread in threads[1:]:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(10)
    assert len(made) == 1
    assert results == made * 8


def test_errors_are_not_cached() -> None:
    cache: OnceCache[str, int] = OnceCache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 1) == 1


def test_all_who_wait_get_the_error_of_the_one_that_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Semaphore(0)

    class Watched(Future[int]):
        def result(self, timeout: float | None = None) -> int:
            waiting.release()
            return super().result(timeout)

    monkeypatch.setattr(cache_module, "Future", Watched)
    cache: OnceCache[str, int] = OnceCache(2)
    calls: list[int] = []

    def fail() -> int:
        calls.append(1)
        for _ in range(7):
            assert waiting.acquire(timeout=10)
        raise ZeroDivisionError

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(cache.get, "a", fail) for _ in range(8)]
        for future in asked:
            with pytest.raises(ZeroDivisionError):
                future.result(20)
    assert len(calls) == 1
    assert cache.peek("a") is None


def test_room_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one"):
        OnceCache(0)


def test_a_call_after_a_drop_does_not_get_an_older_value() -> None:
    cache: OnceCache[str, int] = OnceCache(2, seconds=10)
    started, release = threading.Event(), threading.Event()
    results: list[int] = []

    def old() -> int:
        started.set()
        assert release.wait(10)
        return 1

    thread = threading.Thread(target=lambda: results.append(cache.get("a", old)))
    thread.start()
    assert started.wait(10)
    cache.drop("a")
    assert cache.get("a", lambda: 2) == 2
    release.set()
    thread.join(10)
    assert results == [1]
    assert cache.peek("a") == 2
