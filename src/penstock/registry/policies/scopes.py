"""Policies of a scope (the whole store, a registry, a schema's name) for all in it that says nothing itself."""

from collections.abc import Callable, Sequence

from penstock.registry.errors import NotWritable
from penstock.registry.identity import policy_scopes, schema_resource
from penstock.registry.model import (
    GLOBAL_SCOPE,
    IMPORT,
    READONLY_MODES,
    READONLY_OVERRIDE,
    READWRITE,
    Policy,
    Schema,
    SchemaKey,
    Standing,
)
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["Policies", "compatibility_of", "prevailing_mode", "refuse_unwritable"]

_UNSAID = CompatibilityMode.BACKWARD


class Policies:
    """Policies by scope; a schema's own compatibility goes before all of them."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store

    def get(self, scope: str) -> Policy | None:
        """The policy of ``scope`` alone."""
        return self._store.get_policies((scope,)).get(scope)

    def change(self, scope: str, change: Callable[[Policy], Policy]) -> Policy | None:
        """Put what ``change`` makes of a scope's policy in its place: see :meth:`RegistryStore.change_policy`."""
        return self._store.change_policy(scope, change)

    def put(self, policy: Policy) -> None:
        """Add or replace the policy of its scope."""
        self.change(policy.scope, lambda _: policy)

    def delete(self, scope: str) -> Policy | None:
        """Delete a policy, given back; None where there was none."""
        return self.change(scope, lambda _: Policy(scope=scope))

    def chain(self, key: SchemaKey) -> Sequence[Policy]:
        """Those that hold for the schema, the nearest first: of its name, its registry, the whole store."""
        scopes = policy_scopes(key)
        found = self._store.get_policies(scopes)
        return [found[scope] for scope in scopes if scope in found]

    def mode(self, key: SchemaKey) -> str:
        """READWRITE, READONLY, READONLY_OVERRIDE or IMPORT: what holds for the schema, or would for one of this name."""
        return prevailing_mode(self.chain(key)) or READWRITE

    def check_writable(self, key: SchemaKey, *, with_id: bool = True) -> None:
        """:class:`~penstock.registry.errors.NotWritable` where the mode is READONLY or READONLY_OVERRIDE.

        Without an id to keep (``with_id`` false), which a new version needs there, also where it is IMPORT.
        """
        refuse_unwritable(key, self.mode(key), with_id=with_id)

    def check_deletable(self, registry: str) -> None:
        """:class:`~penstock.registry.errors.NotWritable` where the registry, or a schema in it, is READONLY."""
        self.check_writable(SchemaKey(registry, ""))
        for policy in self._store.list_policies(schema_resource(SchemaKey(registry, ""))):
            if policy.mode in READONLY_MODES:
                raise NotWritable(SchemaKey(registry, policy.scope.rpartition("/")[2]), policy.mode)

    def compatibility(self, schema: Schema) -> CompatibilityMode:
        """The one that holds for ``schema``; BACKWARD where nobody says anything."""
        if schema.compatibility is not None:
            return schema.compatibility
        said = (policy.compatibility for policy in self.chain(schema.key))
        return next((mode for mode in said if mode is not None), _UNSAID)


def prevailing_mode(chain: Sequence[Policy]) -> str | None:
    """The mode of the nearest policy that has one, unless the whole store's is READONLY_OVERRIDE.

    ``chain`` is the nearest first; None where none says anything. Source: getModeInScope of Confluent's registry.
    """
    if chain and chain[-1].scope == GLOBAL_SCOPE and chain[-1].mode == READONLY_OVERRIDE:
        return READONLY_OVERRIDE
    return next((policy.mode for policy in chain if policy.mode is not None), None)


def refuse_unwritable(key: SchemaKey, mode: str | None, *, with_id: bool) -> None:
    """As :meth:`Policies.check_writable`, for a schema whose mode is known; None is READWRITE."""
    if mode in READONLY_MODES or (mode == IMPORT and not with_id):
        raise NotWritable(key, mode)


def compatibility_of(standing: Standing) -> CompatibilityMode:
    """As :meth:`Policies.compatibility`, for a schema whose policies are known."""
    return standing.schema.compatibility or standing.inherited or _UNSAID
