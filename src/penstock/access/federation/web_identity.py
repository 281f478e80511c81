"""Verifies web identity tokens: JSON Web Tokens of an identity provider that an account trusts.

Source: RFC 7519 and RFC 8725 (only algorithms of public keys are accepted, whatever a token says); OpenID Connect Core 1.0,
"ID Token Validation"; AWS STS API reference, AssumeRoleWithWebIdentity. The signature is verified by joserfc.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from penstock.access.entities import EntityKind, OidcProvider
from penstock.access.federation.oidc_keys import IssuerKeys, JsonWebKey
from penstock.access.keys import AccessStore
from penstock.errors import AccessDenied

__all__ = ["InvalidIdentityToken", "TokenExpired", "WebIdentities", "WebIdentity"]

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
_MAX_TOKEN = 20_000
_MAX_SUBJECT = 255
_SKEW = 60  # seconds that the issuer's clock may differ
_LATEST = 1e12  # seconds since 1970


class InvalidIdentityToken(AccessDenied):
    """The token does not come from a provider that the account trusts."""

    aws_code = "InvalidIdentityToken"
    http_status = 400


class TokenExpired(AccessDenied):
    """The token has expired."""

    aws_code = "ExpiredTokenException"
    http_status = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class WebIdentity:
    """The subject of a verified token. ``audience`` is the one of the provider's audiences that it was issued for."""

    provider: OidcProvider
    subject: str
    audience: str

    @property
    def condition_keys(self) -> Mapping[str, str]:
        """The keys for conditions of trust policies, such as ``oidc.example.com/id/1:sub``; names in lower case."""
        issuer = self.provider.name.lower()
        return {f"{issuer}:sub": self.subject, f"{issuer}:aud": self.audience}


class WebIdentities:
    """Verifies tokens by the providers of an account and the keys that the operator gave for their issuers."""

    def __init__(
        self, store: AccessStore, keys: IssuerKeys, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._keys = keys
        self._now = now

    def verify(self, account: str, token: str) -> WebIdentity:
        """Return the identity in the token, which has to come from a provider of ``account``.

        Raises :class:`InvalidIdentityToken`, :class:`TokenExpired`, and
        :class:`~penstock.access.federation.oidc_keys.MissingIssuerKeys`.
        """
        header, claims = _peek(token)
        issuer = claims.get("iss")
        provider = None
        if isinstance(issuer, str) and issuer.startswith("https://") and len(issuer) <= _MAX_SUBJECT:
            name = issuer.removeprefix("https://")
            entity = self._store.get_entity(EntityKind.OIDC, account, name)
            # The store finds names in any case; an issuer's name is case-sensitive.
            provider = entity if isinstance(entity, OidcProvider) and entity.name == name else None
        if provider is None:
            raise InvalidIdentityToken(f"No OpenIDConnect provider found in your account for {str(issuer)[:255]}")
        if header.get("alg") not in ALGORITHMS:
            raise InvalidIdentityToken(f"The algorithm of the token is not one of {', '.join(ALGORITHMS)}.")
        self._check_signature(token, header, provider)
        self._check_times(claims)
        return WebIdentity(provider=provider, subject=_subject(claims), audience=_audience(claims, provider))

    def _check_signature(self, token: str, header: Mapping[str, Any], provider: OidcProvider) -> None:
        key = self._key(header, provider)
        if key is None:
            raise InvalidIdentityToken("Couldn't find the key that the token names.")
        try:
            # Members of the header that are not standard are ignored.
            registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
            jwt.decode(token, key, algorithms=ALGORITHMS, registry=registry)
        except (JoseError, ValueError) as error:
            raise InvalidIdentityToken("The signature of the token is not the provider's.") from error

    def _key(self, header: Mapping[str, Any], provider: OidcProvider) -> JsonWebKey | None:
        keys, key_id = self._keys.of(provider.issuer), header.get("kid")
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.kid == key_id), None)

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._now().timestamp()
        expires, issued = _time(claims, "exp"), _time(claims, "iat")
        if expires is None or issued is None:
            raise InvalidIdentityToken("The token lacks the time of issue or of expiry (iat, exp).")
        if expires + _SKEW <= now:
            raise TokenExpired("Token expired: current date/time must be before the expiration date/time")
        begins = _time(claims, "nbf")
        if issued - _SKEW > now or (begins is not None and begins - _SKEW > now):
            raise InvalidIdentityToken("The token is not valid yet.")


def _peek(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a token that is not verified yet."""
    parts = token.split(".")
    if len(token) > _MAX_TOKEN or len(parts) != 3 or not token.isascii():
        raise InvalidIdentityToken("The ID Token provided is not a valid JWT.")
    try:
        header, claims = (json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in parts[:2])
    except (ValueError, RecursionError):
        header = claims = None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise InvalidIdentityToken("The ID Token provided is not a valid JWT.")
    return header, claims


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _LATEST:
        raise InvalidIdentityToken(f"The token's {name} is not a time in seconds.")
    return float(value)


def _subject(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT or not subject.isprintable():
        raise InvalidIdentityToken(f"The token lacks a subject (sub) of up to {_MAX_SUBJECT} characters.")
    return subject


def _audience(claims: Mapping[str, Any], provider: OidcProvider) -> str:
    """Return the audience that the token was issued for: ``azp`` if it has one, else the first that is registered."""
    listed = claims.get("aud")
    audiences = [listed] if isinstance(listed, str) else listed
    party = claims.get("azp")
    if party is not None:
        audiences = [party] if isinstance(audiences, list) else None
    if not isinstance(audiences, list) or not all(isinstance(audience, str) for audience in audiences):
        raise InvalidIdentityToken("The token lacks an audience (aud).")
    audience = next((name for name in audiences if name in provider.client_ids), None)
    if audience is None:
        raise InvalidIdentityToken(
            "Incorrect token audience", remedy="Ask for a token for one of the provider's client ids."
        )
    return str(audience)
