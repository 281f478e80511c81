"""A bound on how many requests a second one access key may send, answered as AWS answers so that SDKs wait and try again."""

import time
from collections.abc import Callable

from penstock.api.aws.errors import Throttled

__all__ = ["Throttle"]

_MAX_KEYS = 10_000


class Throttle:
    """A token bucket an access key: ``rate`` requests a second, as many at once after a second of rest.

    Called on the event loop alone. Each worker process counts for itself.
    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = max(rate, 1.0)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, access_key_id: str) -> None:
        """Count a request of the key; :class:`Throttled` where it had too many."""
        now = self._clock()
        left, since = self._buckets.get(access_key_id, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        if left < 1.0:
            raise Throttled("Rate exceeded", remedy=f"An access key may send {self._rate:g} requests a second.")
        if access_key_id not in self._buckets and len(self._buckets) >= _MAX_KEYS:
            self._buckets.clear()
        self._buckets[access_key_id] = (left - 1.0, now)
