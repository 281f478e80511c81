"""A bounded cache in which every key is computed once, whoever asks and however many ask at the same time."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["OnceCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V
    expires: float | None


class OnceCache(Generic[K, V]):
    """Least-recently-used cache of at most ``size`` values, safe for threads.

    ``seconds`` bounds a value's age; ``None`` keeps it until it is pushed out. Threads that ask for the same missing key
    wait for the one that computes it, and get its error where it fails; errors are not kept.
    """

    def __init__(self, size: int, *, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if size < 1:
            raise ValueError("a cache needs room for one value")
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._pending: dict[K, Future[V]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def peek(self, key: K) -> V | None:
        """The value where it is there and fresh."""
        with self._lock:
            return self._fresh(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value that came by another way."""
        with self._lock:
            self._keep(key, value)

    def drop(self, key: K) -> None:
        """Forget a value."""
        with self._lock:
            self._entries.pop(key, None)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, computed by ``make`` where it is missing; raises what ``make`` raises."""
        with self._lock:
            known = self._fresh(key)
            if known is not None:
                return known
            pending = self._pending.get(key)
            ours = pending is None
            if pending is None:
                pending = self._pending[key] = Future()
        if not ours:
            return pending.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            pending.set_exception(error)
            raise
        with self._lock:
            self._keep(key, value)
            del self._pending[key]
        pending.set_result(value)
        return value

    def _fresh(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires is not None and self._clock() >= entry.expires:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry.value

    def _keep(self, key: K, value: V) -> None:
        self._entries[key] = _Entry(value, None if self._seconds is None else self._clock() + self._seconds)
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
