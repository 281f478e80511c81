"""HTTP Basic authentication with the access keys that sign AWS's requests. Source: RFC 7617."""

import base64
import hmac
from collections.abc import Awaitable, Callable

from starlette.types import Scope

from penstock.access.authenticate import Caller, KeyCache, caller_of
from penstock.access.keys import AccessKey
from penstock.api.confluent.errors import PlainPassword, Unauthenticated
from penstock.api.limits import FailedLogins
from penstock.api.login import is_private

__all__ = ["BasicLogin", "Credentials", "authenticate", "check_private", "read_credentials"]

_MAX_HEADER = 1_024
# Compared with if there is no key, so that an unknown id takes as long as a wrong secret.
_NOBODY = "0" * 40

Credentials = tuple[str, str]


def read_credentials(header: str) -> Credentials:
    """Return the id and secret of an Authorization header; raise :class:`Unauthenticated` if it is missing or not Basic."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic" or len(header) > _MAX_HEADER:
        raise Unauthenticated
    try:
        key_id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:  # not base64, not ASCII, not UTF-8
        raise Unauthenticated from None
    if not colon or not key_id.isalnum() or not key_id.isascii():
        raise Unauthenticated
    return key_id, secret


def authenticate(credentials: Credentials, key: AccessKey | None) -> Caller:
    """Return the caller if ``key`` has this id and secret; else raise :class:`Unauthenticated`."""
    expected = _NOBODY if key is None else key.secret_access_key
    right = hmac.compare_digest(credentials[1].encode(), expected.encode())
    if key is None or not right or not key.active:
        raise Unauthenticated
    return caller_of(key)


class BasicLogin:
    """Authenticates requests by their Authorization header, and counts failures.

    ``fetch`` reads a key that is not cached; it may block on the store.
    """

    def __init__(self, keys: KeyCache, failures: FailedLogins, fetch: Callable[[str], Awaitable[AccessKey | None]]) -> None:
        self._keys = keys
        self._failures = failures
        self._fetch = fetch

    async def caller(self, authorization: str, client: str, *, named: Callable[[str], None] = lambda _id: None) -> Caller:
        """Return the caller at the address ``client``; call ``named`` with the key id that the header names.

        Raises :class:`Unauthenticated`, or :class:`penstock.api.errors.Throttled` after too many failures.
        """
        key_id = ""
        try:
            key_id, secret = read_credentials(authorization)
            named(key_id)
            self._failures.check(client, key_id)
            key = self._keys.fresh(key_id)
            if key is None:
                key = await self._fetch(key_id)
            caller = authenticate((key_id, secret), key)
        except Unauthenticated:
            self._failures.failed(client, key_id)
            raise
        self._failures.succeeded(client, key_id)
        return caller


def check_private(scope: Scope) -> None:
    """Raise :class:`PlainPassword` if others on the network could read a password on this connection."""
    if not is_private(scope):
        raise PlainPassword
