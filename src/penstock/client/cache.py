"""A bounded cache that computes every key once, however many threads ask for it at the same time."""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TypeVar

from penstock.caching import SharedCache

__all__ = ["OnceCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class OnceCache(SharedCache[K, V]):
    """A :class:`~penstock.caching.SharedCache` that computes missing values.

    Threads that ask for the same missing key wait for the one that computes it, and get its error if it fails. Errors are
    not cached.
    """

    def __init__(self, capacity: int, *, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(capacity, seconds=seconds, clock=clock)
        self._pending: dict[K, Future[V]] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of ``key``, computed by ``make`` if it is missing. Raises the errors of ``make``."""
        with self._lock:
            cached = self._found(key)
            if cached is not None:
                return cached
            pending = self._pending.get(key)
            ours = pending is None
            if pending is None:
                pending = self._pending[key] = Future()
        if not ours:
            return pending.result()
        try:
            value = self.load(key, make)
        except BaseException as error:
            self._end(key, pending)
            pending.set_exception(error)
            raise
        self._end(key, pending)
        pending.set_result(value)
        return value

    def drop(self, key: K) -> None:
        """Remove a value. A computation that is under way is not used for later calls."""
        with self._lock:
            self._pending.pop(key, None)
        super().drop(key)

    def clear(self) -> None:
        """Remove all values, as :meth:`drop` does."""
        with self._lock:
            self._pending.clear()
        super().clear()

    def _end(self, key: K, pending: Future[V]) -> None:
        with self._lock:
            if self._pending.get(key) is pending:
                del self._pending[key]
