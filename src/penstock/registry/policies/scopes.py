"""Scope configs: inherited compatibility and mode of the whole store, of a registry or of a schema's name."""

from collections.abc import Callable, Sequence

from penstock.registry.errors import NotWritable
from penstock.registry.identity import config_scopes, schema_resource
from penstock.registry.model import (
    GLOBAL_SCOPE,
    IMPORT,
    READONLY_MODES,
    READONLY_OVERRIDE,
    READWRITE,
    EffectiveSchema,
    Schema,
    SchemaKey,
    ScopeConfig,
)
from penstock.registry.store import ConfigStore
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["ScopeConfigs", "compatibility_of", "prevailing_mode", "refuse_unwritable"]

_UNSAID = CompatibilityMode.BACKWARD


class ScopeConfigs:
    """Configs by scope; a schema's own compatibility overrides them."""

    def __init__(self, store: ConfigStore) -> None:
        self._store = store

    def get(self, scope: str) -> ScopeConfig | None:
        """Return the config of ``scope`` itself."""
        return self._store.get((scope,)).get(scope)

    def change(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        """Replace a scope's config with the result of ``change``: see :meth:`ConfigStore.change`."""
        return self._store.change(scope, change)

    def put(self, config: ScopeConfig) -> None:
        """Add or replace the config of its scope."""
        self.change(config.scope, lambda _: config)

    def delete(self, scope: str) -> ScopeConfig | None:
        """Delete a config and return it; None if there was none."""
        return self.change(scope, lambda _: ScopeConfig(scope=scope))

    def chain(self, key: SchemaKey) -> Sequence[ScopeConfig]:
        """Return the configs that apply to the schema, the nearest first: of its name, its registry, the whole store."""
        scopes = config_scopes(key)
        configs = self._store.get(scopes)
        return [configs[scope] for scope in scopes if scope in configs]

    def mode(self, key: SchemaKey) -> str:
        """READWRITE, READONLY, READONLY_OVERRIDE or IMPORT: the effective mode of the schema, or of one with this name."""
        return prevailing_mode(self.chain(key)) or READWRITE

    def check_writable(self, key: SchemaKey, *, with_id: bool = True) -> None:
        """:class:`~penstock.registry.errors.NotWritable` if the mode is READONLY or READONLY_OVERRIDE.

        Also if it is IMPORT and the version comes without an id (``with_id`` false).
        """
        refuse_unwritable(key, self.mode(key), with_id=with_id)

    def check_deletable(self, registry: str) -> None:
        """:class:`~penstock.registry.errors.NotWritable` if the registry, or a schema in it, is READONLY."""
        self.check_writable(SchemaKey(registry, ""))
        for config in self._store.list(schema_resource(SchemaKey(registry, ""))):
            if config.mode in READONLY_MODES:
                raise NotWritable(SchemaKey(registry, config.scope.rpartition("/")[2]), config.mode)

    def compatibility(self, schema: Schema) -> CompatibilityMode:
        """Return the effective compatibility of ``schema``; BACKWARD if no scope sets one."""
        if schema.compatibility is not None:
            return schema.compatibility
        modes = (config.compatibility for config in self.chain(schema.key))
        return next((mode for mode in modes if mode is not None), _UNSAID)


def prevailing_mode(chain: Sequence[ScopeConfig]) -> str | None:
    """The mode of the nearest config that has one, unless the whole store's is READONLY_OVERRIDE.

    ``chain`` is the nearest first; None if none sets a mode. Source: getModeInScope of Confluent's registry.
    """
    if chain and chain[-1].scope == GLOBAL_SCOPE and chain[-1].mode == READONLY_OVERRIDE:
        return READONLY_OVERRIDE
    return next((config.mode for config in chain if config.mode is not None), None)


def refuse_unwritable(key: SchemaKey, mode: str | None, *, with_id: bool) -> None:
    """As :meth:`ScopeConfigs.check_writable`, for a schema whose mode is known; None is READWRITE."""
    if mode in READONLY_MODES or (mode == IMPORT and not with_id):
        raise NotWritable(key, mode)


def compatibility_of(effective: EffectiveSchema) -> CompatibilityMode:
    """As :meth:`ScopeConfigs.compatibility`, for a schema whose configs are known."""
    return effective.schema.compatibility or effective.inherited or _UNSAID
