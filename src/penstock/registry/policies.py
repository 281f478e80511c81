"""Policies of a scope (the whole store, a registry, a schema's name) for all in it that says nothing itself."""

from collections.abc import Sequence

from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import GLOBAL_SCOPE, Policy, Schema, SchemaKey
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["Policies"]


class Policies:
    """Policies by scope; a schema's own compatibility goes before all of them."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store

    def get(self, scope: str) -> Policy | None:
        """The policy of ``scope`` alone."""
        return self._store.get_policies((scope,)).get(scope)

    def put(self, policy: Policy) -> None:
        """Add or replace the policy of its scope."""
        self._store.put_policy(policy)

    def delete(self, scope: str) -> Policy | None:
        """Delete a policy, given back; None where there was none."""
        return self._store.delete_policy(scope)

    def chain(self, key: SchemaKey) -> Sequence[Policy]:
        """Those that hold for the schema, the nearest first: of its name, its registry, the whole store."""
        scopes = (schema_resource(key), registry_resource(key.registry), GLOBAL_SCOPE)
        found = self._store.get_policies(scopes)
        return [found[scope] for scope in scopes if scope in found]

    def compatibility(self, schema: Schema) -> CompatibilityMode:
        """The one that holds for ``schema``; BACKWARD where nobody says anything."""
        if schema.compatibility is not None:
            return schema.compatibility
        said = (policy.compatibility for policy in self.chain(schema.key))
        return next((mode for mode in said if mode is not None), CompatibilityMode.BACKWARD)
