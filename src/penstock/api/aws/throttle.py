"""A bound on how many requests a second a key or an account may send, answered as AWS answers: SDKs wait and try again."""

import time
from collections.abc import Callable

from penstock.api.aws.errors import Throttled

__all__ = ["Throttle"]

_MAX_KEYS = 10_000


class Throttle:
    """A token bucket for each name, an access key's or an account's: ``rate`` requests a second, as many at once after a
    second of rest. ``whose`` is what the error calls them, ``what`` what is counted.

    Called on the event loop alone. Each worker process counts for itself.
    """

    def __init__(
        self,
        rate: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        whose: str = "An access key",
        what: str = "requests",
    ) -> None:
        self._rate = rate
        self._burst = max(rate, 1.0)
        self._clock = clock
        self._whose = whose
        self._what = what
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a request of the key or account; :class:`Throttled` where it had too many."""
        now = self._clock()
        left, since = self._buckets.get(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        if left < 1.0:
            raise Throttled("Rate exceeded", remedy=f"{self._whose} may send {self._rate:g} {self._what} a second.")
        if name not in self._buckets and len(self._buckets) >= _MAX_KEYS:
            self._buckets.clear()
        self._buckets[name] = (left - 1.0, now)
