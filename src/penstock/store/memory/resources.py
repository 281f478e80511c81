"""Athena's resources in memory, for tests and trials."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.statements.errors import ResourceLimit
from penstock.statements.resources import Resource, ResourceKind

__all__ = ["MemoryResourceStore"]

T = TypeVar("T", bound=Resource)


class MemoryResourceStore:
    """A :class:`~penstock.statements.resources.ResourceStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._resources: dict[tuple[str, str, str], Any] = {}

    def add(self, kind: ResourceKind[T], resource: T, *, limit: int) -> bool:
        with self._lock:
            at = (kind.name, resource.scope, resource.key)
            if at in self._resources:
                return False
            if sum(each[:2] == at[:2] for each in self._resources) >= limit:
                raise ResourceLimit.of(kind.name, limit)
            self._resources[at] = resource
            return True

    def get(self, kind: ResourceKind[T], scope: str, key: str) -> T | None:
        with self._lock:
            return self._resources.get((kind.name, scope, key))

    def get_many(self, kind: ResourceKind[T], scope: str | None, keys: Sequence[str]) -> Sequence[T]:
        with self._lock:
            found = {at[2]: each for at, each in self._resources.items() if at[0] == kind.name and scope in {None, at[1]}}
            return [found[key] for key in keys if key in found]

    def list(self, kind: ResourceKind[T], scope: str, *, after: str | None, limit: int) -> Sequence[T]:
        with self._lock:
            keys = sorted(key for of, within, key in self._resources if (of, within) == (kind.name, scope))
            return self.get_many(kind, scope, [key for key in keys if after is None or key > after][:limit])

    def change(self, kind: ResourceKind[T], scope: str, key: str, change: Callable[[T], T]) -> T | None:
        with self._lock:
            old = self.get(kind, scope, key)
            if old is None:
                return None
            new = change(old)
            self._resources[kind.name, scope, key] = new
            return new

    def delete(self, kind: ResourceKind[T], scope: str, key: str) -> bool:
        with self._lock:
            return self._resources.pop((kind.name, scope, key), None) is not None

    def delete_with_scope(self, kind: ResourceKind[T], scope: str, key: str, *, within: str) -> bool:
        with self._lock:
            if not self.delete(kind, scope, key):
                return False
            self._resources = {at: each for at, each in self._resources.items() if at[1] != within}
            return True

    def is_empty(self, scope: str) -> bool:
        with self._lock:
            return all(within != scope for _, within, _ in self._resources)
