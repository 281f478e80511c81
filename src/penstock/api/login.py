"""Authenticates requests: the key and rate by the headers, before the body is read, and the signature over the body."""

import hashlib
import hmac
import string
from typing import NamedTuple, Protocol

from starlette.types import Scope

from penstock.access.authenticate import Authenticator
from penstock.access.errors import InvalidSignature
from penstock.access.keys import AccessKey
from penstock.access.principals import Caller
from penstock.access.sessions import TemporaryKey
from penstock.access.sigv4 import Claim, SignedRequest, read_claim
from penstock.api.limits import SMALL_BODY, Limits
from penstock.api.workers import Workers
from penstock.errors import AccessDenied
from penstock.settings.addresses import is_loopback

__all__ = ["Login", "PresentedKey", "SignedService", "is_private", "named_key", "named_service"]

_HASH_HEADER = "x-amz-content-sha256"
_HEX = frozenset(string.hexdigits)


class SignedService(Protocol):
    """What a signature has to be for: AWS's models of services have it."""

    @property
    def signing_name(self) -> str:
        """The service in the scope of signatures."""

    @property
    def global_service(self) -> bool:
        """Whether signatures may be for the region of services without one."""


class PresentedKey(NamedTuple):
    """A claim whose key is known and valid; ``caller`` is set if the headers alone authenticated it."""

    claim: Claim
    key: AccessKey | TemporaryKey
    caller: Caller | None = None
    payload_hash: str = ""

    @property
    def key_id(self) -> str:
        """The access key id."""
        return self.claim.access_key_id


class Login:
    """Authenticates callers by :class:`Authenticator`, and counts failures."""

    def __init__(self, authenticator: Authenticator, limits: Limits) -> None:
        self._authenticator = authenticator
        self._limits = limits

    async def check_key(self, head: SignedRequest, model: SignedService, client: str, workers: Workers) -> PresentedKey:
        """Return the claim of a request whose body has not been read.

        Raises the errors of ``access.errors``, and :class:`~penstock.api.errors.Throttled` for a key over its rate and for
        an address or a key id with too many failures. If the headers declare the body's hash and sign it, the signature is
        checked here, too.
        """
        key_id = ""
        try:
            claim = self._authenticator.claim(head, service=model.signing_name, everywhere=model.global_service)
            key_id = claim.access_key_id
            self._limits.failures.check(client, key_id)
            keys = self._authenticator.keys
            key: AccessKey | TemporaryKey | None = self._authenticator.temporary(claim) or keys.fresh(key_id)
            if key is None:
                key = await workers.run(keys.fetch, key_id)
            key = self._authenticator.require(claim, key)
            declared = head.headers.get(_HASH_HEADER, "")
            if len(declared) != 64 or not _HEX.issuperset(declared) or _HASH_HEADER not in claim.signed_headers:
                declared = ""
            caller = self._authenticator.authenticate(claim, head, key, payload_hash=declared) if declared else None
        except AccessDenied:
            self._limits.failures.failed(client, key_id)
            raise
        if self._limits.throttle is not None:
            self._limits.throttle.check(key_id)
        return PresentedKey(claim, key, caller, declared)

    async def authenticate(
        self, presented: PresentedKey, request: SignedRequest, model: SignedService, client: str, workers: Workers
    ) -> Caller:
        """Return the caller of ``request``, now with its body, to the service of ``model``; count it for its key."""
        claim = presented.claim
        # Ten megabytes take as long as hundred requests.
        digest = await workers.run(_digest, request.body) if len(request.body) > SMALL_BODY else _digest(request.body)
        try:
            if claim.service != model.signing_name:
                raise InvalidSignature(f"Credential should be scoped to correct service: '{model.signing_name}'.")
            caller = presented.caller
            if caller is None:
                caller = self._authenticator.authenticate(claim, request, presented.key, payload_hash=digest)
            elif not hmac.compare_digest(digest, presented.payload_hash):
                raise InvalidSignature("The value passed in as x-amz-content-sha256 does not match the payload.")
        except AccessDenied:
            self._limits.failures.failed(client, presented.key_id)
            raise
        self._limits.failures.succeeded(client, presented.key_id)
        # After authentication: a caller without the secret cannot use up the key's rate.
        self._limits.count(presented.key_id)
        return caller


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def is_private(scope: Scope) -> bool:
    """Return whether nobody else on the network can read a connection: it has TLS, or does not leave this machine."""
    server = scope.get("server")
    return scope.get("scheme") == "https" or not server or server[1] is None or is_loopback(server[0])


def named_key(head: SignedRequest) -> str:
    """Return the access key id that a request claims; empty if it claims none."""
    try:
        return read_claim(head).access_key_id
    except AccessDenied:
        return ""


def named_service(head: SignedRequest) -> str:
    """Return the service that a request claims to be signed for; empty if it claims none."""
    try:
        return read_claim(head).service
    except AccessDenied:
        return ""
