"""Resource policies of the catalog, a registry or a schema, replaced only on stated conditions.

They are evaluated together with the callers' own policies: see :mod:`penstock.access.policies.evaluate`.
"""

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256

from penstock.access.policies.documents import Kind, parse_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.errors import ConditionFailed, ResourcePolicyNotFound
from penstock.registry.identity import Identity
from penstock.registry.model import ResourcePolicy
from penstock.registry.policies.cache import CATALOG, PolicyCache
from penstock.registry.resources import Resources
from penstock.registry.store import ResourcePolicyStore

__all__ = ["ResourcePolicies"]

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
        wanted = ResourcePolicy(resource=resource, text=text, hash=_hash(text), created=now, updated=now)

        def check(stored: ResourcePolicy | None) -> None:
            if exists is not None and exists != (stored is not None):
                raise ConditionFailed(f"{resource} has {'a' if stored is not None else 'no'} resource policy.")
            _check_hash(resource, stored, hash_condition)

        stored = self._store.put(wanted, check)
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


def _check_hash(resource: str, stored: ResourcePolicy | None, wanted: str | None) -> None:
    if wanted is not None and (stored is None or stored.hash != wanted):
        raise ConditionFailed(f"The resource policy of {resource} does not have the hash {wanted[:80]}.")


def _check_document(text: str) -> None:
    try:
        parse_policy(text, Kind.RESOURCE, limit=_MAX_BYTES)
    except MalformedPolicy as error:
        # Unlike IAM, Glue has no error code of its own for it.
        raise InvalidInput(f"PolicyInJson is not a resource policy. {error.message}", remedy=error.remedy) from None
