"""Registries: create, read, list, describe, delete."""

import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime

from penstock.paging import Page, page
from penstock.registry.errors import RegistryExists, RegistryNotFound
from penstock.registry.model import Registry, RegistryLimits
from penstock.registry.store import RegistriesStore
from penstock.tags import check_tags

__all__ = ["Registries"]

_ATTEMPTS = 10


class Registries:
    """Registries by name. Deleting one deletes its schemas at once."""

    def __init__(self, store: RegistriesStore, *, now: Callable[[], datetime], limits: RegistryLimits) -> None:
        self._store = store
        self._now = now
        self._limits = limits

    def create(self, name: str, *, description: str | None = None, tags: Mapping[str, str] | None = None) -> Registry:
        """Add a registry; :class:`RegistryExists`, :class:`RegistryFull`."""
        check_tags(tags or {}, self._limits.tags)
        now = self._now()
        registry = Registry(name=name, description=description, created=now, updated=now)
        self._store.add(registry, tags or {}, limit=self._limits.registries)
        return registry

    def get(self, name: str) -> Registry:
        """The registry; :class:`RegistryNotFound`."""
        registry = self._store.get(name)
        if registry is None:
            raise RegistryNotFound(name)
        return registry

    def ensure(self, name: str, description: str) -> Registry:
        """Return the registry, created with ``description`` if it does not exist; :class:`RegistryFull`."""
        for _ in range(_ATTEMPTS):
            registry = self._store.get(name)
            if registry is not None:
                return registry
            with contextlib.suppress(RegistryExists):
                return self.create(name, description=description)
        raise RegistryNotFound(name)

    def list(self, *, token: str | None = None, size: int = 25) -> Page[Registry]:
        """A page of registries, by name."""
        return page("registries", token, size, self._store.list, lambda registry: registry.name, kind=str)

    def update(self, name: str, *, description: str) -> None:
        """Replace the description; :class:`RegistryNotFound`."""
        if not self._store.update(name, description, self._now()):
            raise RegistryNotFound(name)

    def delete(self, name: str) -> None:
        """Delete a registry with its schemas; :class:`RegistryNotFound`."""
        if not self._store.delete(name):
            raise RegistryNotFound(name)
