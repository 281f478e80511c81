"""Temporary credentials: the server stores nothing of them, because the token contains them, encrypted by the master key.

A token that was changed, or that belongs to another access key, cannot be decrypted. Every server with the same master key
can read it, before and after a restart. Policies are looked up with each request, so that changes of them take effect.
"""

import base64
import binascii
import json
import secrets
import zlib
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

from penstock.access.entities import new_id
from penstock.access.errors import ExpiredToken, UnrecognizedClient
from penstock.access.principals import Caller, SessionContext
from penstock.errors import DataProblem

__all__ = ["UNRECOGNIZED", "Seal", "Sessions", "TemporaryKey"]

UNRECOGNIZED = "The security token included in the request is invalid."
_EXPIRED = "The security token included in the request is expired"
_PREFIX = "ASIA"
_MAX_TOKEN = 16_384
_MAX_CONTENT = 65_536
_SECRET_BYTES = 30  # 40 characters of base64, as many as AWS's secrets have


class Seal(Protocol):
    """Encrypts small values, bound to ``context``; raises :class:`DataProblem` for one that cannot be decrypted."""

    def seal(self, value: bytes, context: str) -> bytes:
        """Return the encrypted value."""

    def open(self, sealed: bytes, context: str) -> bytes:
        """The value."""

    @property
    def generation(self) -> int:
        """A number that changes with the keys: values that could be decrypted before may not be any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryKey:
    """A temporary credential and its caller."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    token: str = field(repr=False)
    caller: Caller
    expires: datetime

    def check_current(self, now: datetime) -> None:
        """Raise :class:`ExpiredToken` if it has expired."""
        if now >= self.expires:
            raise ExpiredToken(_EXPIRED)


class Sessions:
    """Issues temporary credentials and reads their tokens."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        # Only valid tokens are cached, so made-up ones cannot fill the cache.
        self._opened = lru_cache(maxsize=1024)(self._open)

    def issue(self, account: str, principal: str, session: SessionContext, *, user_id: str) -> TemporaryKey:
        """Return a new credential for ``principal``; ``user_id`` is as in :class:`Caller`."""
        access_key_id = new_id(_PREFIX, 16)
        secret = base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
        content = {"secret": secret, "account": account, "principal": principal, "id": user_id, **asdict(session)}
        sealed = self._seal.seal(zlib.compress(json.dumps(content).encode()), _context(access_key_id))
        token = base64.b64encode(sealed).decode()
        return self.open(access_key_id, token)

    def open(self, access_key_id: str, token: str) -> TemporaryKey:
        """Return the credential of a token; raise :class:`UnrecognizedClient` if it is not valid for this server and key."""
        if len(token) > _MAX_TOKEN or len(access_key_id) > 128:
            raise _unrecognized(access_key_id)
        return self._opened(access_key_id, token, self._seal.generation)

    def _open(self, access_key_id: str, token: str, _generation: int) -> TemporaryKey:
        try:
            sealed = base64.b64decode(token, validate=True)
            opened = self._seal.open(sealed, _context(access_key_id))
        except (binascii.Error, ValueError, DataProblem):
            raise _unrecognized(access_key_id) from None
        content = json.loads(zlib.decompressobj().decompress(opened, _MAX_CONTENT))
        secret, account, principal = content.pop("secret"), content.pop("account"), content.pop("principal")
        user_id = content.pop("id")
        for name in ("policies", "policy_arns"):
            content[name] = tuple(content[name])
        session = SessionContext(**content)
        return TemporaryKey(
            access_key_id=access_key_id,
            secret_access_key=secret,
            token=token,
            caller=Caller(account=account, principal=principal, user_id=user_id, session=session),
            expires=datetime.fromtimestamp(session.expires, UTC),
        )


def _context(access_key_id: str) -> str:
    return f"session token {access_key_id}"


def _unrecognized(access_key_id: str) -> UnrecognizedClient:
    remedy = "Ask for temporary credentials again, and send id, secret and token together."
    if not access_key_id.startswith(_PREFIX):
        remedy = "A long-term access key has no session token: unset AWS_SESSION_TOKEN."
    return UnrecognizedClient(UNRECOGNIZED, remedy=remedy)
