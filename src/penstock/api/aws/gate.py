"""Says who may do what, and whose handler answers: between a checked request and its operation."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from penstock.access.authorize import Authorizer, denial
from penstock.access.entities import EntityKind, Identity
from penstock.access.errors import UnrecognizedClient
from penstock.access.facts import Origin
from penstock.access.keys import AccessStore
from penstock.access.policies import Policy
from penstock.access.principals import Caller
from penstock.access.sessions import UNRECOGNIZED
from penstock.api.aws.actions import Place, Request, named_account, resources_of
from penstock.api.aws.needs import PASS_ROLE, also_needed, iam_keys, passed_to
from penstock.api.aws.operations import Endpointed, Handler, RequestContext, RunOnThread
from penstock.api.aws.sts import origin_of
from penstock.errors import NotFound
from penstock.names import arn
from penstock.query.ports import Permit
from penstock.registry.model import SchemaKey
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService

__all__ = ["PolicyGate", "Realm", "Realms", "Warden"]

# Their operations work on the caller's own account, out of one store.
_SHARED = frozenset({"iam", "organizations", "sts"})
_KEPT_SECONDS = 5.0
_MAX_KEPT = 10_000


class Realm(Protocol):
    """What decisions read of an account's services."""

    @property
    def account(self) -> str: ...
    @property
    def schemas(self) -> RegistryService: ...
    @property
    def secrets(self) -> SecretsService: ...


class Realms(Protocol):
    """The accounts of the server."""

    @property
    def first(self) -> Realm: ...

    def running(self, account: str) -> Realm | None:
        """The account's services where they run already; reads nothing."""

    def get(self, account: str) -> Realm | None:
        """The account's services, started where need be; None where there is no such account."""

    def handler(self, account: str, service: str, operation: str) -> Handler:
        """The handler of a running account."""


class Warden:
    """Judges actions on the resources of an account, by the caller's policies and those of the resources."""

    def __init__(self, authorizer: Authorizer, *, region: str) -> None:
        self._authorizer = authorizer
        self._region = region

    def ready(self, caller: Caller, realm: Realm | None) -> bool:
        """Whether :meth:`check` would read no policies from a store."""
        known = realm is None or realm.schemas.resource_policies.judging.fresh
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

    def _policy_of(self, resource: str, realm: Realm) -> Policy | None:
        prefix = arn("glue", self._region, realm.account, "")
        if not resource.startswith(prefix):
            return None
        return realm.schemas.resource_policies.judging.of(resource.removeprefix(prefix))


class PolicyGate:
    """A :class:`~penstock.api.aws.operations.Gate` over the accounts of the server."""

    def __init__(self, warden: Warden, realms: Realms, store: AccessStore, *, region: str) -> None:
        self._warden = warden
        self._realms = realms
        self._store = store
        self._region = region
        self._first = realms.first.account
        self._places: dict[str, _Lookup] = {}

    def admit(
        self, endpoint: Endpointed, request: Mapping[str, Any], context: RequestContext
    ) -> tuple[Handler, RequestContext]:
        """As the protocol says; the root of the first account passes without a look at any policy."""
        caller, service = context.caller, context.service
        assert caller is not None
        if service == "iam" and caller.session is not None and caller.session.role is None:
            # Root's, too: STS API reference, GetSessionToken.
            raise UnrecognizedClient(UNRECOGNIZED, remedy="IAM takes no credentials of GetSessionToken: assume a role.")
        shared = service in _SHARED
        owner = caller.account if shared else named_account(service, request) or caller.account
        own_root = caller.is_root and owner == caller.account
        if own_root and (shared or owner == self._first):
            return endpoint.handler, context
        realm = None if shared else self._realm(owner, context)
        if not own_root:
            self._check(caller, request, context, owner=owner, realm=realm)
        if shared:
            return endpoint.handler, context
        if service == "athena" and not own_root:
            context = replace(context, permit=self._permit(caller, context, owner=owner, realm=realm))
        if owner != context.account:
            context = context.for_account(owner)
        if owner == self._first:
            return endpoint.handler, context
        return self._realms.handler(owner, service, context.operation), context

    def _realm(self, owner: str, context: RequestContext) -> Realm | None:
        realm = self._realms.running(owner)
        if realm is None:
            if context.on_loop:
                raise RunOnThread
            realm = self._realms.get(owner)
        return realm

    def _check(
        self, caller: Caller, request: Mapping[str, Any], context: RequestContext, *, owner: str, realm: Realm | None
    ) -> None:
        service, operation = context.service, context.operation
        if service == "sts":
            # Whoever has credentials may ask who it is, and AssumeRole asks the role.
            return
        if context.on_loop and not self._warden.ready(caller, realm):
            raise RunOnThread
        origin = origin_of(context)
        place = self._place(caller, owner, realm)
        resources = resources_of(service, operation, request, place)
        extra = iam_keys(operation, request, place) if service == "iam" else None
        self._warden.check(caller, f"{service}:{operation}", resources, origin, owner=owner, realm=realm, extra=extra)
        for action, needed in also_needed(service, operation, request, place):
            extra = {"iam:passedtoservice": passed_to(service)} if action == PASS_ROLE else None
            self._warden.check(caller, action, needed, origin, owner=owner, realm=realm, extra=extra)

    def _permit(self, caller: Caller, context: RequestContext, *, owner: str, realm: Realm | None) -> Permit:
        """What judges Glue's operations on behalf of the caller, also when its request has been answered."""
        place, origin = self._place(caller, owner, realm), origin_of(context)

        def permit(operation: str, request: Request, /) -> None:
            resources = resources_of("glue", operation, request, place)
            self._warden.check(caller, f"glue:{operation}", resources, origin, owner=owner, realm=realm)

        return permit

    def _place(self, caller: Caller, owner: str, realm: Realm | None) -> Place:
        return Place(self._region, owner, self._lookup(owner, realm), user=caller.user_name)

    def _lookup(self, account: str, realm: Realm | None) -> "_Lookup":
        known = self._places.get(account)
        if known is None or known.realm is not realm:
            known = _Lookup(account, realm, self._store)
            if realm is not None:
                self._places[account] = known
        return known


class _Lookup:
    """What is stored in one account, for the ARNs of requests; which schema a version is of is kept for 5 seconds."""

    def __init__(self, account: str, realm: Realm | None, store: AccessStore) -> None:
        self._account = account
        self.realm = realm
        self._store = store
        self._schemas: dict[str, SchemaKey] = {}
        self._until = 0.0

    def schema_of_version(self, version_id: str) -> SchemaKey | None:
        now = time.monotonic()
        if now >= self._until or len(self._schemas) > _MAX_KEPT:
            self._schemas, self._until = {}, now + _KEPT_SECONDS
        known = self._schemas.get(version_id)
        if known is not None or self.realm is None:
            return known
        try:
            known = self._schemas[version_id] = self.realm.schemas.versions.get(version_id).key
        except NotFound:
            return None
        return known

    def secret_arn(self, secret_id: str) -> str | None:
        if self.realm is None:
            return None
        try:
            return self.realm.secrets.describe(self._account, secret_id).arn
        except NotFound:
            return None

    def entity_arn(self, kind: str, name: str) -> str | None:
        found = self._store.get_entity(EntityKind(kind), self._account, name)
        return None if found is None else found.arn

    def boundary_of(self, kind: str, name: str) -> str | None:
        found = self._store.get_entity(EntityKind(kind), self._account, name)
        return found.boundary if isinstance(found, Identity) else None
