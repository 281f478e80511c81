"""Who sends a request: by a signature for Glue, or by a bearer token."""

from dataclasses import dataclass

from starlette.types import Scope

from penstock.access.authenticate import Authenticator, KeyCache, caller_of
from penstock.access.bearer import BearerTokens
from penstock.access.errors import UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.principals import Caller
from penstock.access.sessions import TemporaryKey
from penstock.access.sigv4 import SignedRequest
from penstock.api.iceberg.errors import PlainCredentials
from penstock.api.iceberg.tokens import TokenEndpoint
from penstock.api.limits import Limits
from penstock.api.login import Login, PresentedKey, is_private
from penstock.api.workers import Workers
from penstock.errors import AccessDenied

__all__ = ["IcebergLogin", "PresentedToken"]

_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class _Glue:
    """The service that signatures are for."""

    signing_name: str = "glue"
    global_service: bool = False


_GLUE = _Glue()


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentedToken:
    """A bearer token that is valid: its caller, and the id of its key."""

    caller: Caller
    key_id: str


class IcebergLogin:
    """Authenticates requests. ``insecure`` accepts tokens and secrets on connections that others can read."""

    def __init__(
        self, authenticator: Authenticator, tokens: BearerTokens, limits: Limits, workers: Workers, *, insecure: bool
    ) -> None:
        self._login = Login(authenticator, limits)
        self._keys: KeyCache = authenticator.keys
        self._tokens = tokens
        self._limits = limits
        self._workers = workers
        self._insecure = insecure
        self.endpoint = TokenEndpoint(tokens, authenticator.keys, limits, self._fetch)

    async def present(self, head: SignedRequest, client: str, scope: Scope) -> PresentedKey | PresentedToken:
        """Return the key or token of a request whose body has not been read; raise an :class:`AccessDenied`."""
        authorization = head.headers.get("authorization", "")
        if authorization[: len(_BEARER)].lower() != _BEARER:
            return await self._login.check_key(head, _GLUE, client, self._workers)
        self.check_private(scope)
        self._limits.failures.check(client, "")
        try:
            opened = self._tokens.open(authorization[len(_BEARER) :].strip())
            caller = opened.caller
            if caller is None:
                key = self._keys.fresh(opened.access_key_id) or await self._fetch(opened.access_key_id)
                if key is None or not opened.fits(key):
                    raise UnrecognizedClient("The bearer token's access key is not valid any more.")
                caller = caller_of(key)
        except AccessDenied:
            self._limits.failures.failed(client, "")
            raise
        self._limits.count(opened.access_key_id)
        return PresentedToken(caller=caller, key_id=opened.access_key_id)

    async def caller(self, presented: PresentedKey | PresentedToken, request: SignedRequest, client: str) -> Caller:
        """Return the caller, now that the body is known; raise an :class:`AccessDenied`."""
        if isinstance(presented, PresentedToken):
            return presented.caller
        return await self._login.authenticate(presented, request, _GLUE, client, self._workers)

    def signer(self, presented: PresentedKey | PresentedToken | None) -> AccessKey | TemporaryKey | None:
        """Return the key that signed a request, None if it is not signed."""
        return presented.key if isinstance(presented, PresentedKey) else None

    def check_private(self, scope: Scope) -> None:
        """Raise :class:`PlainCredentials` if others on the network could read a token on this connection."""
        if not self._insecure and not is_private(scope):
            raise PlainCredentials

    async def _fetch(self, key_id: str) -> AccessKey | None:
        key: AccessKey | None = await self._workers.run(self._keys.fetch, key_id)
        return key
