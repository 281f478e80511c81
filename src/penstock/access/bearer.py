"""Bearer tokens for clients that cannot sign requests: short-lived, and bound to the credential they were made for.

As with session tokens, the server stores nothing of them: a token has its content, encrypted by the master key. It is
valid only as long as its access key is, with the same secret, or its session.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.access.errors import ExpiredToken, UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.principals import Caller
from penstock.access.sessions import Seal, Sessions, TemporaryKey
from penstock.errors import DataProblem

__all__ = ["BearerToken", "BearerTokens"]

_CONTEXT = "bearer token"
_MAX_TOKEN = 32_768
_SECONDS = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """A token that was read: the access key that it is for, or the caller of its session."""

    access_key_id: str
    expires: datetime
    caller: Caller | None
    """The caller if the credential is temporary; None for a long-term key, which has to be checked with :meth:`fits`."""
    secret_hash: str = ""

    def fits(self, key: AccessKey | None) -> bool:
        """Return whether ``key`` is the token's, is active, and has the secret that it had."""
        return key is not None and key.active and _hash(key) == self.secret_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerTokens:
    """Issues and reads bearer tokens. ``now`` returns the time in UTC."""

    seal: Seal
    sessions: Sessions
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def issue(self, key: AccessKey | TemporaryKey) -> tuple[str, int]:
        """Return a token for the holder of ``key``, and its lifetime in seconds: an hour, or less for a session."""
        now = int(self.now().timestamp())
        expires = now + _SECONDS
        content: dict[str, str | int] = {"key": key.access_key_id}
        if isinstance(key, TemporaryKey):
            expires = min(expires, int(key.expires.timestamp()))
            content["session"] = key.token
        else:
            content["secret"] = _hash(key)
        content["expires"] = expires
        sealed = self.seal.seal(json.dumps(content).encode(), _CONTEXT)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("="), max(0, expires - now)

    def open(self, token: str) -> BearerToken:
        """Return what the token is for; raise :class:`UnrecognizedClient`, or :class:`ExpiredToken`."""
        try:
            if len(token) > _MAX_TOKEN:
                raise ValueError
            sealed = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
            content = json.loads(self.seal.open(sealed, _CONTEXT))
        except (binascii.Error, ValueError, DataProblem):
            raise UnrecognizedClient("The bearer token is invalid.", remedy="Ask for a new one.") from None
        expires = datetime.fromtimestamp(content["expires"], UTC)
        if self.now() >= expires:
            raise ExpiredToken("The bearer token has expired.", remedy="Ask for a new one.")
        key_id, session = content["key"], content.get("session")
        caller = None if session is None else self.sessions.open(key_id, session).caller
        return BearerToken(access_key_id=key_id, expires=expires, caller=caller, secret_hash=content.get("secret", ""))


def _hash(key: AccessKey) -> str:
    return hashlib.sha256(key.secret_access_key.encode()).hexdigest()
