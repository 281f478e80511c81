"""OpenID Connect providers of an account, whose web identity tokens its roles may trust. Source: IAM API reference."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.access.entities import Entity, EntityKind, NoSuchEntity, OidcProvider, missing, new_id
from penstock.access.identities.tags import changed_tags, checked_tags
from penstock.access.keys import AccessStore
from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["InvalidProvider", "OidcProviders"]

_MAX_PROVIDERS = 100
_MAX_CLIENTS = 100
_MAX_THUMBPRINTS = 5
_MAX_NAME = 128  # characters, as long as the store's names are
_NAME = re.compile(r"[A-Za-z0-9.-]{1,253}(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)
_THUMBPRINT = re.compile(r"[0-9A-Fa-f]{40}", re.ASCII)
_ARN = re.compile(r"arn:aws:iam::(\d{12}):oidc-provider/(.{1,255})", re.ASCII)


class InvalidProvider(InvalidInput):
    """A URL, an ARN, a client id or a thumbprint is invalid."""

    aws_code = "InvalidInput"


class OidcProviders:
    """Providers of any account, by ARN."""

    def __init__(self, store: AccessStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(
        self,
        account: str,
        url: str,
        *,
        client_ids: Sequence[str] = (),
        thumbprints: Sequence[str] = (),
        tags: Mapping[str, str] | None = None,
    ) -> OidcProvider:
        """Create a provider; raise :class:`InvalidProvider`, :class:`EntityExists`, :class:`LimitExceeded`."""
        name = url.removeprefix("https://")
        if not url.startswith("https://") or len(name) > _MAX_NAME or _NAME.fullmatch(name) is None:
            raise InvalidProvider(
                "Invalid Open ID Connect Provider URL",
                remedy=f"It has to be https://HOST/PATH, without a port or a query, of up to {_MAX_NAME} characters.",
            )
        provider = OidcProvider(
            account=account,
            name=name,
            id=new_id("OIDC"),
            created=self._now().replace(microsecond=0),
            tags=checked_tags(tags or {}),
            client_ids=_clients(client_ids),
            thumbprints=_thumbprints(thumbprints),
        )
        self._store.add_entity(provider, "CreateOpenIDConnectProvider", limit=_MAX_PROVIDERS)
        return provider

    def get(self, account: str, arn: str) -> OidcProvider:
        """Return the provider; raise :class:`InvalidProvider`, :class:`NoSuchEntity`."""
        name = _name(account, arn)
        provider = self._store.get_entity(EntityKind.OIDC, account, name)
        if not isinstance(provider, OidcProvider) or provider.arn != arn:
            raise missing(EntityKind.OIDC, name)
        return provider

    def list(self, account: str) -> Sequence[OidcProvider]:
        """Return all providers of the account, by name."""
        return [entity for entity in self._store.list_entities(EntityKind.OIDC, account) if isinstance(entity, OidcProvider)]

    def set_thumbprints(self, account: str, arn: str, thumbprints: Sequence[str]) -> None:
        """Replace the thumbprints; raise :class:`InvalidProvider`, :class:`NoSuchEntity`."""
        checked = _thumbprints(thumbprints)
        self._change(
            account,
            arn,
            "UpdateOpenIDConnectProviderThumbprint",
            lambda oidc_provider: replace(oidc_provider, thumbprints=checked),
        )

    def add_client(self, account: str, arn: str, client_id: str) -> None:
        """Accept tokens for one more audience; raise :class:`NoSuchEntity`, :class:`LimitExceeded`."""

        def change(provider: OidcProvider) -> OidcProvider:
            return replace(provider, client_ids=_clients([*provider.client_ids, client_id]))

        self._change(account, arn, "AddClientIDToOpenIDConnectProvider", change)

    def remove_client(self, account: str, arn: str, client_id: str) -> None:
        """Stop accepting tokens for an audience; raise :class:`NoSuchEntity` only for the provider, as in AWS."""

        def change(provider: OidcProvider) -> OidcProvider:
            return replace(provider, client_ids=tuple(id_ for id_ in provider.client_ids if id_ != client_id))

        self._change(account, arn, "RemoveClientIDFromOpenIDConnectProvider", change)

    def tag(self, account: str, arn: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, and remove others; raise :class:`NoSuchEntity`, and the errors of :func:`changed_tags`."""

        def change(provider: OidcProvider) -> OidcProvider:
            return replace(provider, tags=changed_tags(provider.tags, add or {}, remove))

        operation = "UntagOpenIDConnectProvider" if add is None else "TagOpenIDConnectProvider"
        self._change(account, arn, operation, change)

    def delete(self, account: str, arn: str) -> None:
        """Delete a provider: its issuer's tokens are rejected from then on. Raise :class:`NoSuchEntity`."""
        self._change(account, arn, "DeleteOpenIDConnectProvider", lambda _: None)

    def _change(self, account: str, arn: str, operation: str, change: Callable[[OidcProvider], OidcProvider | None]) -> None:
        name = _name(account, arn)

        def checked(entity: Entity) -> Entity | None:
            if not isinstance(entity, OidcProvider) or entity.arn != arn:
                raise missing(EntityKind.OIDC, name)
            return change(entity)

        self._store.change_entity(EntityKind.OIDC, account, name, operation, checked)


def _name(account: str, arn: str) -> str:
    match = _ARN.fullmatch(arn)
    if match is None:
        raise InvalidProvider("Invalid ARN", remedy="It has to be arn:aws:iam::ACCOUNT:oidc-provider/HOST/PATH.")
    if match[1] != account:
        raise NoSuchEntity(f"OpenIDConnect Provider not found for arn {arn[:400]}")
    return match[2]


def _clients(client_ids: Sequence[str]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(client_ids))
    if len(unique) > _MAX_CLIENTS:
        raise LimitExceeded(f"Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: {_MAX_CLIENTS}")
    return unique


def _thumbprints(thumbprints: Sequence[str]) -> tuple[str, ...]:
    if len(thumbprints) > _MAX_THUMBPRINTS:
        raise InvalidProvider(f"Thumbprint list must contain fewer than {_MAX_THUMBPRINTS + 1} entries.")
    if any(_THUMBPRINT.fullmatch(thumbprint) is None for thumbprint in thumbprints):
        raise InvalidProvider("A thumbprint is 40 hexadecimal digits.")
    return tuple(thumbprints)
