"""Bounds on the requests a second of a key, an account or an address; SDKs wait and retry on the answer."""

import time
from collections.abc import Callable

from cachetools import LRUCache

from penstock.api.errors import Throttled

__all__ = ["Buckets", "Throttle"]

_MAX_NAMES = 10_000


class Buckets:
    """A token bucket for each name: ``rate`` tokens a second, ``burst`` at most.

    Holds 10,000 names. Beyond that, the least recently used one is dropped, and so has a full bucket again. To be called
    only on the event loop. Each worker process counts separately.
    """

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(_MAX_NAMES)

    def left(self, name: str) -> float:
        """Return how many tokens the bucket has now."""
        kept = self._buckets.get(name)
        return self._burst if kept is None else min(self._burst, kept[0] + (self._clock() - kept[1]) * self._rate)

    def take(self, name: str) -> bool:
        """Take a token and return True; return False if there is none."""
        left = self.left(name)
        if left < 1.0:
            return False
        self._buckets[name] = (left - 1.0, self._clock())
        return True


class Throttle:
    """Bounds the requests of an access key or an account to ``rate`` a second, and to as many at once after a second
    without requests. In the error's text, ``whose`` is the kind of name and ``what`` the things that are counted.
    """

    def __init__(
        self,
        rate: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        whose: str = "An access key",
        what: str = "requests",
    ) -> None:
        self._buckets = Buckets(rate, max(rate, 1.0), clock=clock)
        self._remedy = f"{whose} may send {rate:g} {what} a second."

    def check(self, name: str) -> None:
        """Raise :class:`Throttled` if :meth:`take` would, without counting a request."""
        if self._buckets.left(name) < 1.0:
            raise self._refusal()

    def take(self, name: str) -> None:
        """Count a request of the key or account; raise :class:`Throttled` if it had too many."""
        if not self._buckets.take(name):
            raise self._refusal()

    def _refusal(self) -> Throttled:
        return Throttled("Rate exceeded", remedy=self._remedy)
