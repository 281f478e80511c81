"""Authenticates signed requests: checks claim, key and signature, in that order, and returns the caller."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from penstock.access.errors import UnrecognizedClient
from penstock.access.keys import AccessKey, AccessStore
from penstock.access.principals import Caller, root_arn
from penstock.access.sessions import UNRECOGNIZED, Sessions, TemporaryKey
from penstock.access.sigv4 import Claim, SignedRequest, check_claim, check_signature, read_claim
from penstock.caching import SharedCache

__all__ = ["GLOBAL_REGION", "Authenticator", "Caller", "KeyCache", "caller_of"]

GLOBAL_REGION = "us-east-1"
"""The region in the signatures of requests to services without a region (IAM, and STS by its old name)."""

_MAX_KEYS = 10_000


class KeyCache:
    """Access keys of the store, cached for ``ttl`` seconds; a removed key is rejected after that time at the latest.

    Only keys that exist are cached, so that made-up ids cannot fill the cache.
    """

    def __init__(self, store: AccessStore, *, ttl: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._keys: SharedCache[str, AccessKey | None] = SharedCache(_MAX_KEYS, seconds=ttl, clock=clock)

    def fresh(self, access_key_id: str) -> AccessKey | None:
        """Return the key as it was within the last ``ttl`` seconds, or None if :meth:`fetch` has to be called."""
        return self._keys.peek(access_key_id)

    def fetch(self, access_key_id: str) -> AccessKey | None:
        """Return the key as the store has it now; reads the store, so it may block."""
        return self._keys.load(access_key_id, lambda: self._store.get(access_key_id))

    def forget(self, access_key_id: str) -> None:
        """Remove a changed key from the cache."""
        self._keys.drop(access_key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Authenticates callers for one region. ``now`` is the clock that signatures are compared with (aware, UTC).

    Without ``sessions``, temporary credentials are rejected.
    """

    keys: KeyCache
    region: str
    sessions: Sessions | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def claim(self, request: SignedRequest, *, service: str, everywhere: bool = False) -> Claim:
        """Return the request's claim after all checks that need no secret; raise the errors of ``access.errors``.

        ``everywhere`` also accepts a signature for :data:`GLOBAL_REGION`, besides this server's region.
        """
        claim = read_claim(request)
        region = GLOBAL_REGION if everywhere and claim.region == GLOBAL_REGION else self.region
        check_claim(claim, request, service=service, region=region, now=self.now())
        return claim

    def temporary(self, claim: Claim) -> TemporaryKey | None:
        """Return the credential in the claim's token, None if it has no token; raise :class:`UnrecognizedClient`."""
        if claim.token is None:
            return None
        if self.sessions is None:
            raise UnrecognizedClient(
                UNRECOGNIZED,
                remedy="This server issues no session tokens: use a long-term access key and unset AWS_SESSION_TOKEN.",
            )
        return self.sessions.open(claim.access_key_id, claim.token)

    def require(self, claim: Claim, key: AccessKey | TemporaryKey | None) -> AccessKey | TemporaryKey:
        """Return ``key``, the claim's, if it exists and is valid; else raise. Does not need the request's body."""
        if key is None or (isinstance(key, AccessKey) and not key.active):
            raise UnrecognizedClient(
                UNRECOGNIZED, remedy=f"This server has no access key '{claim.access_key_id[:128]}': see 'penstock env'."
            )
        if isinstance(key, TemporaryKey):
            key.check_current(self.now())
        return key

    def authenticate(
        self,
        claim: Claim,
        request: SignedRequest,
        key: AccessKey | TemporaryKey | None,
        *,
        payload_hash: str | None = None,
    ) -> Caller:
        """Return the caller if ``key`` (the claim's) gives the claimed signature and is still valid; else raise.

        ``payload_hash`` is as in :func:`~penstock.access.sigv4.check_signature`.
        """
        key = self.require(claim, key)
        check_signature(claim, request, key.secret_access_key, payload_hash=payload_hash)
        return caller_of(key) if isinstance(key, AccessKey) else key.caller


def caller_of(key: AccessKey) -> Caller:
    """Return the caller that a long-term key belongs to."""
    return _caller(key.account, key.principal, key.owner_id)


@lru_cache(maxsize=1024)
def _caller(account: str, principal: str, owner_id: str) -> Caller:
    root = principal == root_arn(account)
    return Caller(account=account, principal=principal, user_id=account if root else owner_id)
