"""From a signed request to the caller it proves: claim, key, signature, in that order."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from penstock.access.errors import UnrecognizedClient
from penstock.access.keys import AccessKey, AccessStore
from penstock.access.sigv4 import Claim, SignedRequest, check_claim, check_signature, read_claim

__all__ = ["Authenticator", "Caller", "KeyCache"]

_UNRECOGNIZED = "The security token included in the request is invalid."


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whom a request comes from: an account and the ARN of the principal."""

    account: str
    principal: str


class KeyCache:
    """Access keys of the store, kept for ``ttl`` seconds; a removed key is refused after that long at the latest.

    Only keys that exist are kept, so that made-up ids cannot fill it.
    """

    def __init__(self, store: AccessStore, *, ttl: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._ttl = ttl
        self._clock = clock
        self._kept: dict[str, tuple[float, AccessKey]] = {}

    def fresh(self, access_key_id: str) -> AccessKey | None:
        """The key as it was within the last ``ttl`` seconds, or None where :meth:`fetch` has to be asked."""
        kept = self._kept.get(access_key_id)
        return kept[1] if kept is not None and kept[0] > self._clock() else None

    def fetch(self, access_key_id: str) -> AccessKey | None:
        """The key as the store has it now; reads the store, so it may block."""
        key = self._store.get(access_key_id)
        if key is None:
            self._kept.pop(access_key_id, None)
        else:
            self._kept[access_key_id] = (self._clock() + self._ttl, key)
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Proves callers for one region. ``now`` is the clock that signatures are compared with (aware, UTC)."""

    keys: KeyCache
    region: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def claim(self, request: SignedRequest, *, service: str) -> Claim:
        """The request's claim with everything checked that needs no secret; raises the errors of ``access.errors``."""
        claim = read_claim(request)
        check_claim(claim, request, service=service, region=self.region, now=self.now())
        if claim.token is not None:
            raise UnrecognizedClient(
                _UNRECOGNIZED,
                remedy="This server issues no session tokens: use a long-term access key and unset AWS_SESSION_TOKEN.",
            )
        return claim

    def prove(self, claim: Claim, request: SignedRequest, key: AccessKey | None) -> Caller:
        """The caller, where ``key`` (that of ``claim.access_key_id``) gives the claimed signature."""
        if key is None:
            raise UnrecognizedClient(
                _UNRECOGNIZED, remedy=f"This server has no access key '{claim.access_key_id[:128]}': see 'penstock env'."
            )
        check_signature(claim, request, key.secret_access_key)
        return _caller(key.account, key.principal)


@lru_cache(maxsize=1024)
def _caller(account: str, principal: str) -> Caller:
    return Caller(account=account, principal=principal)
