"""Caches that threads share: bounded, with eviction of the least recently used value, and with an optional maximum age.

Eviction and expiry are cachetools'. This module adds the lock, and does not cache a value that was read before a change.
"""

import math
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from cachetools import Cache, LRUCache, TLRUCache

__all__ = ["SharedCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Entry(NamedTuple, Generic[V]):
    value: V
    weight: int
    expires: float


class SharedCache(Generic[K, V]):
    """Values other than None, up to ``capacity`` in total weight; a value weighs 1 unless :meth:`put` gives another weight.

    ``seconds`` limits a value's age by ``clock``; without it a value stays until it is evicted. Safe for threads.
    """

    def __init__(self, capacity: int, *, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if capacity < 1:
            raise ValueError("a cache needs room for one value")
        self._capacity = capacity
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._changes = 0
        self._entries: Cache[K, _Entry[V]] = (
            LRUCache(capacity, getsizeof=_weight)
            if seconds is None
            else TLRUCache(capacity, ttu=_expires, timer=clock, getsizeof=_weight)
        )

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def peek(self, key: K) -> V | None:
        """Return the value if it is cached and not expired."""
        with self._lock:
            return self._found(key)

    def put(self, key: K, value: V, *, weight: int = 1) -> None:
        """Cache a value, unless it alone weighs more than the capacity."""
        expires = self._expiry()
        with self._lock:
            self._keep(key, value, weight, expires)

    def load(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of ``read`` and cache it for the next :meth:`peek`. Raises the errors of ``read``.

        Its age counts from before the read. It is not cached if it is None, or if :meth:`drop` or :meth:`clear` was called
        during the read, which may have returned the old value.
        """
        expires, changes = self._expiry(), self._changes
        value = read()
        with self._lock:
            if value is None:
                self._remove(key)
            elif changes == self._changes:
                self._keep(key, value, 1, expires)
        return value

    def drop(self, key: K) -> None:
        """Remove a value."""
        with self._lock:
            self._changes += 1
            self._remove(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._changes += 1
            self._entries.clear()

    def _found(self, key: K) -> V | None:
        # Not get(), which looks up twice: three times as slow if entries expire.
        try:
            return self._entries[key].value
        except KeyError:
            return None

    def _expiry(self) -> float:
        return math.inf if self._seconds is None else self._clock() + self._seconds

    def _keep(self, key: K, value: V, weight: int, expires: float) -> None:
        if weight <= self._capacity:
            self._entries[key] = _Entry(value, weight, expires)

    def _remove(self, key: K) -> None:
        with suppress(KeyError):
            del self._entries[key]


def _weight(entry: _Entry[V]) -> int:
    return entry.weight


def _expires(_key: Hashable, entry: _Entry[V], _now: float) -> float:
    return entry.expires
