"""Limits that the APIs of a process share: requests of a key, failed logins, bytes of bodies in flight."""

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from cachetools import LRUCache

from penstock.api.errors import Throttled
from penstock.api.inflight import BodyBudget
from penstock.api.throttle import Buckets, Throttle

__all__ = ["FAILURES_PER_SECOND", "FailedLogins", "Limits", "network_of"]

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
        left = self._of_address.left(network)
        if left >= self._burst or (network, key_id) in self._proven:
            return
        if left < 1.0 or self._of_key.left(key_id) < 1.0:
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
