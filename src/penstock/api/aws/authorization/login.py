"""Who sends a request: what its head alone tells, before anything is spent on its body, and the proof once it is there."""

import hashlib
import hmac
import string
from typing import NamedTuple

from penstock.access.authenticate import Authenticator
from penstock.access.errors import InvalidSignature
from penstock.access.keys import AccessKey
from penstock.access.principals import Caller
from penstock.access.sessions import TemporaryKey
from penstock.access.sigv4 import Claim, SignedRequest, read_claim
from penstock.api.aws.protocol.models import ServiceModel
from penstock.api.limits import Limits
from penstock.api.workers import Workers
from penstock.errors import AccessDenied

__all__ = ["Login", "Presented", "named_key", "named_service"]

_HASH_HEADER = "x-amz-content-sha256"
_HEX = frozenset(string.hexdigits)


class Presented(NamedTuple):
    """A claim whose key is known and good; ``caller`` is there where the head alone proved it."""

    claim: Claim
    key: AccessKey | TemporaryKey
    caller: Caller | None = None
    payload_hash: str = ""

    @property
    def key_id(self) -> str:
        """The access key id."""
        return self.claim.access_key_id


class Login:
    """Proves callers by :class:`Authenticator`, and counts those who fail."""

    def __init__(self, authenticator: Authenticator, limits: Limits) -> None:
        self._authenticator = authenticator
        self._limits = limits

    async def present(self, head: SignedRequest, model: ServiceModel, client: str, workers: Workers) -> Presented:
        """The claim of a request whose body has not been read.

        Raises the errors of ``access.errors``; :class:`~penstock.api.errors.Throttled` for a key that may
        send no more now, and for an address or a key id with too many failures. Where the head declares the body's
        hash and signs it, the signature is checked here, too.
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
        return Presented(claim, key, caller, declared)

    def authenticate(self, presented: Presented, request: SignedRequest, model: ServiceModel, client: str) -> Caller:
        """The caller of the whole ``request``, which ``model`` answers; counted as one of its key."""
        claim = presented.claim
        try:
            if claim.service != model.signing_name:
                raise InvalidSignature(f"Credential should be scoped to correct service: '{model.signing_name}'.")
            caller = presented.caller
            if caller is None:
                caller = self._authenticator.authenticate(claim, request, presented.key)
            elif not hmac.compare_digest(hashlib.sha256(request.body).hexdigest(), presented.payload_hash):
                raise InvalidSignature("The value passed in as x-amz-content-sha256 does not match the payload.")
        except AccessDenied:
            self._limits.failures.failed(client, presented.key_id)
            raise
        self._limits.failures.succeeded(client, presented.key_id)
        # After the proof: nobody uses up another one's share.
        self._limits.count(presented.key_id)
        return caller


def named_key(head: SignedRequest) -> str:
    """The access key id that a request says it is signed with; empty where it does not."""
    try:
        return read_claim(head).access_key_id
    except AccessDenied:
        return ""


def named_service(head: SignedRequest) -> str:
    """The service that a request says it is signed for; empty where it does not."""
    try:
        return read_claim(head).service
    except AccessDenied:
        return ""
