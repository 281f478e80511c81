"""Bounds on how many requests a second a key, an account or an address may send; SDKs wait at the answer and try again."""

import time
from collections.abc import Callable

from cachetools import LRUCache

from penstock.api.errors import Throttled

__all__ = ["Buckets", "Throttle"]

_MAX_NAMES = 10_000


class Buckets:
    """A token bucket for each name: ``rate`` tokens a second, ``burst`` at most.

    Holds 10,000 names; beyond that the one that was used longest ago is forgotten, and so full again. Called on the event
    loop alone. Each worker process counts for itself.
    """

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(_MAX_NAMES)

    def left(self, name: str) -> float:
        """How many tokens the bucket has now."""
        kept = self._buckets.get(name)
        return self._burst if kept is None else min(self._burst, kept[0] + (self._clock() - kept[1]) * self._rate)

    def take(self, name: str) -> bool:
        """Take a token; False, and nothing taken, where there is none."""
        left = self.left(name)
        if left < 1.0:
            return False
        self._buckets[name] = (left - 1.0, self._clock())
        return True


class Throttle:
    """What a name, an access key's or an account's, may send: ``rate`` requests a second, as many at once after a second
    of rest. ``whose`` is what the error calls them, ``what`` what is counted.
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
        """Raise :class:`Throttled` where :meth:`take` would, and count nothing."""
        if self._buckets.left(name) < 1.0:
            raise self._refusal()

    def take(self, name: str) -> None:
        """Count a request of the key or account; :class:`Throttled` where it had too many."""
        if not self._buckets.take(name):
            raise self._refusal()

    def _refusal(self) -> Throttled:
        return Throttled("Rate exceeded", remedy=self._remedy)
