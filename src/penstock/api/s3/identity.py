"""Authenticates callers by signature against the access store, and evaluates their policies for S3's actions."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.access.authenticate import KeyCache, caller_of
from penstock.access.authorize import Authorizer, denial
from penstock.access.context_keys import Origin
from penstock.access.errors import ExpiredToken, UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.policies.condition_keys import S3_HEADERS
from penstock.access.policies.documents import Policy
from penstock.access.principals import Caller
from penstock.access.sessions import Sessions, TemporaryKey
from penstock.access.sigv4 import Claim, SignedRequest
from penstock.api.s3.call import Authorize
from penstock.api.s3.signature import Payload, check_claim, check_signature, payload_of, read_s3_claim
from penstock.errors import PenstockError
from penstock.lake.objects.errors import S3Error

__all__ = ["AuthenticatedRequest", "S3Authenticator"]

# What a bucket's policy cannot take from the account's root: Amazon S3 API reference, PutBucketPolicy.
_ROOTS_OWN = frozenset({"s3:PutBucketPolicy", "s3:GetBucketPolicy", "s3:DeleteBucketPolicy"})

_log = logging.getLogger("penstock.s3")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticatedRequest:
    """A caller, its claim, and the secret of its signatures."""

    caller: Caller
    claim: Claim
    payload: Payload
    secret_access_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Authenticator:
    """The authenticator of one server. ``run`` calls a function that may block on a thread."""

    region: str
    keys: KeyCache
    sessions: Sessions
    authorizer: Authorizer
    run: Callable[..., Awaitable[Any]]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def authenticate(self, request: SignedRequest) -> AuthenticatedRequest:
        """Return the caller who signed the request; raise :class:`S3Error` if the signature is missing or wrong."""
        claim = read_s3_claim(request)
        check_claim(claim, request, region=self.region, now=self.now())
        payload = payload_of(claim, request.headers)
        key = await self._key(claim)
        check_signature(claim, request, payload, key.secret_access_key)
        if isinstance(key, AccessKey):
            caller = caller_of(key)
        else:
            try:
                key.check_current(self.now())
            except ExpiredToken:
                raise S3Error("ExpiredToken", "The provided token has expired.") from None
            caller = key.caller
        return AuthenticatedRequest(caller=caller, claim=claim, payload=payload, secret_access_key=key.secret_access_key)

    async def _key(self, claim: Claim) -> AccessKey | TemporaryKey:
        if claim.token is not None:
            try:
                opened: TemporaryKey = await self._blocking(self.sessions.open, claim.access_key_id, claim.token)
            except UnrecognizedClient as error:
                raise S3Error(
                    "InvalidToken", "The provided token is malformed or otherwise invalid.", remedy=error.remedy
                ) from None
            return opened
        key: AccessKey | None = self.keys.fresh(claim.access_key_id)
        if key is None:
            key = await self._blocking(self.keys.fetch, claim.access_key_id[:128])
        if key is None or not key.active:
            raise S3Error(
                "InvalidAccessKeyId",
                "The AWS Access Key Id you provided does not exist in our records.",
                remedy="See 'penstock env'.",
                details={"AWSAccessKeyId": claim.access_key_id[:128]},
            )
        return key

    async def _blocking(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await self.run(function, *arguments)
        except PenstockError:
            raise
        except Exception as error:
            _log.exception("the access store cannot be read")
            raise S3Error("ServiceUnavailable", "The users and keys cannot be read now.", remedy="Try again.") from error

    def access(self, caller: Caller, origin: Origin, headers: Mapping[str, str]) -> Authorize:
        """Return what decides on the caller's request with ``headers``, in its own account's lake and in others'."""
        header_keys = {f"s3:{name}": headers[name] for name in S3_HEADERS if name in headers}

        def authorize(action: str, resource: str, /, *, owner: str, policy: Policy | None, extra: Mapping[str, str]) -> None:
            own = owner == caller.account
            if caller.is_root and own and (policy is None or action in _ROOTS_OWN):
                return
            keys = {**header_keys, **extra, "s3:resourceaccount": owner}
            try:
                decision = self.authorizer.decide(caller, action, resource, origin, owner=owner, policy=policy, extra=keys)
            except UnrecognizedClient as error:
                raise S3Error("InvalidAccessKeyId", error.message, remedy=error.remedy) from None
            if not decision.allowed:
                raise S3Error("AccessDenied", denial(caller, action, resource, decision.reason).message)

        return authorize
