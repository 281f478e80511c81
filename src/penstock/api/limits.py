"""Limits that the APIs of a process share: requests of a key, failed logins, bytes of bodies in flight.

SDKs wait and retry on the answer to a request beyond them. Everything here is to be called only on the event loop.
"""

import asyncio
import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from cachetools import LRUCache

from penstock.api.errors import Overloaded, Throttled

__all__ = ["FAILURES_PER_SECOND", "SMALL_BODY", "BodyBudget", "Buckets", "FailedLogins", "Limits", "Throttle", "network_of"]

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
        bucket = self._buckets.get(name)
        return self._burst if bucket is None else min(self._burst, bucket[0] + (self._clock() - bucket[1]) * self._rate)

    def take(self, name: str) -> bool:
        """Take a token and return True; return False if there is none."""
        tokens = self.left(name)
        if tokens < 1.0:
            return False
        self._buckets[name] = (tokens - 1.0, self._clock())
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


SMALL_BODY = 64 * 1024  # bytes of a body that the HTTP parser reads before the application does
_SMALL_TOTAL = 32 * 1024 * 1024
_LARGE_TOTAL = 64 * 1024 * 1024
_LARGE_SHARE = 20 * 1024 * 1024  # bytes of one owner: two of the largest bodies
_TIMEOUT = 5.0  # seconds
_MOST_WAITING = 256


class BodyBudget:
    """Room for bodies, taken before the first byte is read and released with the answer.

    Small and large bodies have separate room, so that uploads do not delay other calls. An owner is an address with its
    access key: each has at most a third of the room for large bodies, and waiting owners are served in turn. To be called
    only on the event loop.
    """

    def __init__(
        self,
        *,
        small: int = _SMALL_TOTAL,
        large: int = _LARGE_TOTAL,
        share: int = _LARGE_SHARE,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._small = _Pool(small, small, timeout)
        self._large = _Pool(large, share, timeout)

    async def acquire(self, owner: str, size: int) -> None:
        """Take room for ``size`` bytes; raise :class:`Overloaded` if none is free within 5 seconds, or too many wait."""
        if not size:
            # A request without a body is not counted, so any number of them may be answered at once.
            return
        pool = self._small if size <= SMALL_BODY else self._large
        if not pool.take(owner, size):
            await pool.wait(owner, size)

    def release(self, owner: str, size: int) -> None:
        """Release the room."""
        if size:
            (self._small if size <= SMALL_BODY else self._large).release(owner, size)


class _Pool:
    def __init__(self, total: int, share: int, timeout: float) -> None:
        self._free = total
        self._share = share
        self._timeout = timeout
        self._of_owner: dict[str, int] = {}
        self._waiting: OrderedDict[str, deque[tuple[int, asyncio.Future[None]]]] = OrderedDict()
        self._count = 0

    def take(self, owner: str, size: int) -> bool:
        """Take room if it is free at once, and return whether it was; waiting requests of the owner come first."""
        if owner in self._waiting or not self._fits(owner, size):
            return False
        self._give(owner, size)
        return True

    async def wait(self, owner: str, size: int) -> None:
        if self._count >= _MOST_WAITING:
            raise _overloaded()
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (size, granted)
        self._waiting.setdefault(owner, deque()).append(place)
        self._count += 1
        try:
            async with asyncio.timeout(self._timeout):
                await granted
        except BaseException as error:
            # The room was granted in the same turn of the loop in which the wait timed out or was cancelled.
            if granted.done() and not granted.cancelled():
                self.release(owner, size)
            else:
                self._forget(owner, place)
            if isinstance(error, TimeoutError):
                raise _overloaded() from None
            raise

    def release(self, owner: str, size: int) -> None:
        self._free += size
        remaining = self._of_owner[owner] - size
        if remaining:
            self._of_owner[owner] = remaining
        else:
            del self._of_owner[owner]
        if self._waiting:
            self._serve()

    def _serve(self) -> None:
        """Give free room to waiting requests, one of each owner in turn."""
        served = True
        while served:
            served = False
            for owner in list(self._waiting):
                size, granted = self._waiting[owner][0]
                if self._fits(owner, size):
                    self._give(owner, size)
                    self._forget(owner, (size, granted))
                    if owner in self._waiting:
                        self._waiting.move_to_end(owner)
                    granted.set_result(None)
                    served = True

    def _fits(self, owner: str, size: int) -> bool:
        return size <= self._free and self._of_owner.get(owner, 0) + size <= self._share

    def _give(self, owner: str, size: int) -> None:
        self._free -= size
        self._of_owner[owner] = self._of_owner.get(owner, 0) + size

    def _forget(self, owner: str, place: tuple[int, asyncio.Future[None]]) -> None:
        queue = self._waiting.get(owner)
        if queue is None or place not in queue:
            return
        queue.remove(place)
        self._count -= 1
        if not queue:
            del self._waiting[owner]


def _overloaded() -> Overloaded:
    return Overloaded("The server has no room for more request bodies in flight.", remedy="Back off and try again: SDKs do.")


FAILURES_PER_SECOND = 20.0
_BURST = 10  # seconds of failures at once
_OF_A_KEY = 10  # times as many failures for a key id, from all addresses
_MAX_PROVEN = 10_000
_ROLES_PER_SECOND = 100  # limit of AssumeRole calls per account, each of which is stored
_IPV6_NETWORK = 64  # bits of the prefix that one household or machine has


class FailedLogins:
    """Bounds failed logins by source address and by access key id.

    An address that has used up its failures is rejected before its key is looked up and before its body is read, unless it
    has succeeded with the same key before: callers who share an address with an attacker are not locked out. A key id that
    has used up its failures is rejected from addresses that failed recently and never succeeded with it, so knowing a key id
    is not enough to lock its owner out. ``rate`` is in failures a second of one address; both tables are bounded. To be
    called only on the event loop.
    """

    def __init__(self, rate: float = FAILURES_PER_SECOND, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = max(1.0, rate * _BURST)
        self._of_address = Buckets(rate, self._burst, clock=clock)
        self._of_key = Buckets(rate * _OF_A_KEY, self._burst * _OF_A_KEY, clock=clock)
        self._proven: LRUCache[tuple[str, str], bool] = LRUCache(_MAX_PROVEN)

    def check(self, address: str, key_id: str) -> None:
        """Raise :class:`Throttled` if the address or the key id had too many failures."""
        network = network_of(address)
        tokens = self._of_address.left(network)
        if tokens >= self._burst or (network, key_id) in self._proven:
            return
        if tokens < 1.0 or self._of_key.left(key_id) < 1.0:
            raise Throttled("Rate exceeded", remedy="Too many failed logins from this address: wait, then check the key.")

    def failed(self, address: str, key_id: str) -> None:
        """Count a failure; ``key_id`` is empty if the request named none. Raise :class:`Throttled` for one too many."""
        if key_id:
            self._of_key.take(key_id[:128])
        if not self._of_address.take(network_of(address)):
            raise Throttled("Rate exceeded", remedy="Too many failed logins from this address: wait, then check the key.")

    def succeeded(self, address: str, key_id: str) -> None:
        """Remember that the address succeeded with this key."""
        self._proven[network_of(address), key_id] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one process. Without ``throttle``, an access key's requests are not limited; without
    ``account_throttle``, an account's are not.
    """

    throttle: Throttle | None = None
    account_throttle: Throttle | None = None
    failures: FailedLogins = field(default_factory=FailedLogins)
    bodies: BodyBudget = field(default_factory=BodyBudget)

    @classmethod
    def of_process(cls, rate: float | None, *, processes: int) -> "Limits":
        """Return one process's share of a server's limits; ``rate`` is the requests a second of a key, None no limit."""
        failures = FAILURES_PER_SECOND if rate is None else min(FAILURES_PER_SECOND, rate)
        return cls(
            throttle=None if rate is None else Throttle(rate / processes),
            account_throttle=Throttle(_ROLES_PER_SECOND / processes, whose="An account", what="calls of AssumeRole"),
            failures=FailedLogins(failures / processes),
        )

    def count(self, key_id: str) -> None:
        """Count a request of an authenticated key; raise :class:`Throttled` if it had too many."""
        if self.throttle is not None:
            self.throttle.take(key_id)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Return what is counted as one address: the first 64 bits of an IPv6 address, every other address as it is."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_NETWORK), strict=False))
