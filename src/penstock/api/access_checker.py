"""Whether a caller may do an action on resources of an account: what all APIs ask before they act."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.access.authorize import Authorizer, denial
from penstock.access.facts import Origin
from penstock.access.policies.documents import Policy
from penstock.access.policies.evaluate import Decision
from penstock.access.principals import Caller
from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.names import arn
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService

__all__ = ["Realm", "Realms", "Warden"]


class Realm(Protocol):
    """What decisions read of an account's services."""

    @property
    def account(self) -> str: ...
    @property
    def schemas(self) -> RegistryService: ...
    @property
    def secrets(self) -> SecretsService: ...
    @property
    def tables(self) -> CatalogService: ...
    @property
    def crawls(self) -> CrawlService: ...


class Realms(Protocol):
    """The accounts of the server."""

    @property
    def first(self) -> Realm: ...

    def running(self, account: str) -> Realm | None:
        """The account's services where they run already; reads nothing."""

    def get(self, account: str) -> Realm | None:
        """The account's services, started where need be; None where there is no such account."""


class Warden:
    """Judges actions on the resources of an account, by the caller's policies and those of the resources."""

    def __init__(self, authorizer: Authorizer, *, region: str) -> None:
        self._authorizer = authorizer
        self._region = region

    def ready(self, caller: Caller, realm: Realm | None) -> bool:
        """Whether :meth:`check` would read no policies from a store."""
        known = realm is None or realm.schemas.resource_policies.cache.is_fresh
        return known and self._authorizer.fresh(caller) is not None

    def check(
        self,
        caller: Caller,
        action: str,
        resources: Sequence[str],
        origin: Origin,
        *,
        owner: str,
        realm: Realm | None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Raise :class:`~penstock.access.errors.NotAuthorized` unless the caller may do ``action`` with each resource.

        ``owner`` is the account that they are of, ``realm`` its services where it has a registry that is asked.
        """
        if caller.is_root and caller.account == owner:
            return
        for resource in resources:
            policy = None if realm is None else self._policy_of(resource, realm)
            decision = self._authorizer.decide(caller, action, resource, origin, owner=owner, policy=policy, extra=extra)
            if not decision.allowed:
                raise denial(caller, action, resource, decision.why)

    def holds_back(
        self,
        caller: Caller,
        actions: Sequence[str],
        resources: Sequence[str],
        origin: Origin,
        *,
        owner: str,
        realm: Realm | None,
        allowed: str | None = None,
    ) -> Decision | None:
        """Why a member of a container is not for the caller; None where it is.

        That is where one of ``actions`` is denied explicitly with one of its ``resources``, or where nothing allows
        the action ``allowed`` with each of them.
        """
        if caller.is_root and caller.account == owner:
            return None
        for resource in resources:
            policy = None if realm is None else self._policy_of(resource, realm)
            for action in actions:
                decision = self._authorizer.decide(caller, action, resource, origin, owner=owner, policy=policy)
                if decision.explicit or (action == allowed and not decision.allowed):
                    return decision
        return None

    def _policy_of(self, resource: str, realm: Realm) -> Policy | None:
        prefix = arn("glue", self._region, realm.account, "")
        if not resource.startswith(prefix):
            return None
        return realm.schemas.resource_policies.cache.of(resource.removeprefix(prefix))
