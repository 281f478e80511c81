"""Resource policies of the catalog, a registry or a schema, replaced only on stated conditions.

They are evaluated together with the callers' own policies: see :mod:`penstock.access.policies.evaluate`.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256

from penstock.access.policies.documents import Policy, PolicyType, parse_policy, parsed_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.caching import SharedCache
from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.errors import ConditionFailed, ResourcePolicyNotFound
from penstock.registry.identity import Identity
from penstock.registry.model import ResourcePolicy
from penstock.registry.resources import Resources
from penstock.registry.store import ResourcePolicyStore

__all__ = ["CATALOG", "PolicyCache", "ResourcePolicies"]

_MAX_BYTES = 10_240  # Glue's quota for a resource policy


class ResourcePolicies:
    """Policies by the ARN of a resource, None being the catalog; :class:`ResourceNotFound` for one that does not exist.

    ``cache`` has the parsed policies, for evaluation.
    """

    def __init__(
        self, store: ResourcePolicyStore, resources: Resources, identity: Identity, *, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._resources = resources
        self._identity = identity
        self._now = now
        self.cache = PolicyCache(store)

    def get(self, resource_arn: str | None) -> ResourcePolicy:
        """The policy; :class:`ResourcePolicyNotFound`."""
        resource = self._resource(resource_arn)
        policy = self._store.get(resource)
        if policy is None:
            raise ResourcePolicyNotFound(resource)
        return policy

    def list(self, *, token: str | None = None, size: int = 100) -> Page[ResourcePolicy]:
        """A page of all policies, by resource."""
        return page("policies", token, size, self._store.list, lambda policy: policy.resource, kind=str)

    def put(
        self, resource_arn: str | None, text: str, *, hash_condition: str | None = None, exists: bool | None = None
    ) -> ResourcePolicy:
        """Add or replace a policy.

        ``hash_condition`` is the required hash of the stored policy; ``exists`` says whether there must be one (None:
        either). :class:`ConditionFailed`; :class:`InvalidInput` for a text that is not a policy.
        """
        resource = self._resource(resource_arn)
        _check_document(text)
        now = self._now()
        policy = ResourcePolicy(resource=resource, text=text, hash=_hash(text), created=now, updated=now)

        def check(stored: ResourcePolicy | None) -> None:
            if exists is not None and exists != (stored is not None):
                raise ConditionFailed(f"{resource} has {'a' if stored is not None else 'no'} resource policy.")
            _check_hash(resource, stored, hash_condition)

        stored = self._store.put(policy, check)
        self.cache.forget()
        return stored

    def delete(self, resource_arn: str | None, *, hash_condition: str | None = None) -> None:
        """Delete a policy; :class:`ResourcePolicyNotFound`, :class:`ConditionFailed`."""
        resource = self._resource(resource_arn)

        def check(stored: ResourcePolicy | None) -> None:
            if stored is None:
                raise ResourcePolicyNotFound(resource)
            _check_hash(resource, stored, hash_condition)

        self._store.delete(resource, check)
        self.cache.forget()

    def _resource(self, resource_arn: str | None) -> str:
        if resource_arn is None or self._identity.is_catalog(resource_arn):
            return CATALOG
        return self._resources.existing(resource_arn)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _check_hash(resource: str, stored: ResourcePolicy | None, condition: str | None) -> None:
    if condition is not None and (stored is None or stored.hash != condition):
        raise ConditionFailed(f"The resource policy of {resource} does not have the hash {condition[:80]}.")


def _check_document(text: str) -> None:
    try:
        parse_policy(text, PolicyType.RESOURCE, limit=_MAX_BYTES)
    except MalformedPolicy as error:
        # Unlike IAM, Glue has no error code of its own for it.
        raise InvalidInput(f"PolicyInJson is not a resource policy. {error.message}", remedy=error.remedy) from None


CATALOG = "catalog"
"""The resource whose policy applies to everything in the account."""

_log = logging.getLogger("penstock.registry")
_PAGE = 500
_ALL = "all"


class PolicyCache:
    """The policies of one account's catalog, registries and schemas, read again after ``ttl`` seconds.

    A change that this process makes applies at once (:meth:`forget`).
    """

    def __init__(self, store: ResourcePolicyStore, *, ttl: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        # One value: a schema's policies can depend on all of them.
        self._cache: SharedCache[str, Mapping[str, Policy]] = SharedCache(1, seconds=ttl, clock=clock)

    def forget(self) -> None:
        """Read all policies again, after a change."""
        self._cache.clear()

    @property
    def is_fresh(self) -> bool:
        """Whether :meth:`of` answers without reading the store."""
        return self._cache.peek(_ALL) is not None

    def of(self, resource: str) -> Policy | None:
        """Return the policies of ``schema/REGISTRY/NAME`` or another resource: its own, its registry's, the catalog's."""
        policies = self._policies()
        if not policies:
            return None
        resource_type, _, rest = resource.partition("/")
        names = [CATALOG]
        if resource_type == "schema":
            names.append(f"registry/{rest.partition('/')[0]}")
        if resource_type in ("registry", "schema"):
            names.append(resource)
        statements = [statement for name in names if name in policies for statement in policies[name].statements]
        return Policy(statements=tuple(statements)) if statements else None

    def _policies(self) -> Mapping[str, Policy]:
        policies = self._cache.peek(_ALL)
        return self._cache.load(_ALL, self._read) if policies is None else policies

    def _read(self) -> Mapping[str, Policy]:
        policies: dict[str, Policy] = {}
        after: str | None = None
        while True:
            rows = self._store.list(after, _PAGE)
            for row in rows:
                try:
                    policies[row.resource] = parsed_policy(row.text, PolicyType.RESOURCE)
                except MalformedPolicy as error:
                    # Stored by an earlier release that did not evaluate it; a policy that cannot be read allows nothing.
                    _log.warning("the resource policy of %s is left out: %s", row.resource, error)
            if len(rows) < _PAGE:
                return policies
            after = rows[-1].resource
