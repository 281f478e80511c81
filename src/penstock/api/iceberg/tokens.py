"""The token endpoint: client credentials and exchanges, for clients that send bearer tokens instead of signatures.

An access key's id and secret are the client's credentials. A request that is signed with Signature Version 4 gets a token
for its signer, so that temporary credentials can be used, too.

Source: RFC 6749, sections 2.3.1, 4.4 and 5; RFC 8693, section 2; Iceberg's REST catalog specification, ``/v1/oauth/tokens``.
"""

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import orjson

from penstock.access.authenticate import KeyCache
from penstock.access.bearer import BearerTokens
from penstock.access.errors import ExpiredToken, UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.sessions import TemporaryKey
from penstock.api.iceberg.errors import Rendered
from penstock.api.limits import Limits

__all__ = ["Issued", "TokenEndpoint", "basic_credentials"]

_CREDENTIALS = "client_credentials"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
_NOBODY = "0" * 40
_MAX_SCOPE = 1_000


class _Refused(Exception):
    """An error of OAuth: its ``code``, and what to tell."""

    def __init__(self, code: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True)
class Issued:
    """An answer, and what the audit log says of it: the id of the key that was named, the key, or why it was refused."""

    answer: Rendered
    key_id: str
    key: AccessKey | TemporaryKey | None = None
    refused: str = ""


class TokenEndpoint:
    """Answers requests for tokens. ``fetch`` reads a key that is not cached; it may block on the store."""

    def __init__(
        self,
        tokens: BearerTokens,
        keys: KeyCache,
        limits: Limits,
        fetch: Callable[[str], Awaitable[AccessKey | None]],
    ) -> None:
        self._tokens = tokens
        self._keys = keys
        self._limits = limits
        self._failures = limits.failures
        self._fetch = fetch

    async def answer(
        self, form: bytes, headers: Mapping[str, str], client: str, signer: AccessKey | TemporaryKey | None
    ) -> "Issued":
        """Return the answer to a form. ``signer`` is the key that signed the request, if it is signed."""
        client_id = ""
        try:
            fields = _fields(form)
            credentials = basic_credentials(headers.get("authorization", ""))
            client_id = credentials[0] if credentials is not None else fields.get("client_id", "")
            key = await self._key(fields, headers, client, signer)
        except _Refused as error:
            refusal = {"error": error.code, "error_description": str(error)}
            return Issued(_answer(error.status, error.code, refusal), client_id, refused=str(error))
        if signer is None:
            self._limits.count(key.access_key_id)
        token, seconds = self._tokens.issue(key)
        body: dict[str, Any] = {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": seconds,
            "issued_token_type": _ACCESS_TOKEN,
        }
        if fields.get("scope"):
            body["scope"] = fields["scope"][:_MAX_SCOPE]
        return Issued(_answer(200, "OK", body), key.access_key_id, key=key)

    async def _key(
        self, fields: Mapping[str, str], headers: Mapping[str, str], client: str, signer: AccessKey | TemporaryKey | None
    ) -> AccessKey | TemporaryKey:
        grant = fields.get("grant_type")
        if grant not in {_CREDENTIALS, _EXCHANGE}:
            raise _Refused("unsupported_grant_type", f"The grant_type has to be {_CREDENTIALS} or {_EXCHANGE}.")
        if signer is not None:
            return signer
        credentials = basic_credentials(headers.get("authorization", ""))
        if credentials is None and "client_id" in fields:
            credentials = (fields["client_id"], fields.get("client_secret", ""))
        if credentials is not None:
            return await self._known(credentials, client)
        if grant == _EXCHANGE and fields.get("subject_token"):
            return await self._exchanged(fields["subject_token"], client)
        raise _Refused("invalid_client", "Send an access key's id and secret as client_id and client_secret.", 401)

    async def _known(self, credentials: tuple[str, str], client: str) -> AccessKey:
        key_id, secret = credentials[0][:128], credentials[1]
        self._failures.check(client, key_id)
        key = self._keys.fresh(key_id) or await self._fetch(key_id)
        expected = _NOBODY if key is None else key.secret_access_key
        right = hmac.compare_digest(secret.encode(), expected.encode())
        if key is None or not right or not key.active:
            self._failures.failed(client, key_id)
            raise _Refused("invalid_client", "The access key's id or secret is wrong.", 401)
        self._failures.succeeded(client, key_id)
        return key

    async def _exchanged(self, token: str, client: str) -> AccessKey:
        self._failures.check(client, "")
        try:
            opened = self._tokens.open(token)
            key = self._keys.fresh(opened.access_key_id) or await self._fetch(opened.access_key_id)
            if opened.caller is None and key is not None and opened.fits(key):
                return key
        except (UnrecognizedClient, ExpiredToken):
            pass
        self._failures.failed(client, "")
        raise _Refused("invalid_grant", "The subject_token is invalid, has expired, or is a session's.")


def basic_credentials(header: str) -> tuple[str, str] | None:
    """Return id and secret of a Basic Authorization header, None for another one."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        key_id, _, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    # RFC 6749 encodes both as in forms; Iceberg's Java client does not, and a secret of AWS may have a plus.
    return key_id, unquote_plus(secret) if "%" in secret else secret


def _fields(form: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(form.decode(), strict_parsing=bool(form), max_num_fields=50))
    except (ValueError, UnicodeDecodeError):
        raise _Refused("invalid_request", "The body is not a form.") from None


def _answer(status: int, code: str, body: Mapping[str, Any]) -> Rendered:
    headers: tuple[tuple[bytes, bytes], ...] = ((b"cache-control", b"no-store"),)
    if status == 401:
        headers += ((b"www-authenticate", b'Basic realm="Penstock"'),)
    return Rendered(status=status, code=code, body=orjson.dumps(body), headers=headers)
