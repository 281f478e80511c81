"""Jobs in memory, for tests and trials."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.jobs.errors import TooManyEntries
from penstock.jobs.store import Entry, Kind

__all__ = ["MemoryJobStore"]

T = TypeVar("T", bound=Entry)
P = TypeVar("P", bound=Entry)


class MemoryJobStore:
    """A :class:`~penstock.jobs.store.JobStore` of dictionaries behind one lock."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Any] = {}
        self._lock = threading.RLock()

    def add(self, kind: Kind[T], entry: T, *, limit: int | None = None) -> bool:
        with self._lock:
            new = (kind.name, entry.key) not in self._entries
            if new and limit is not None and sum(each.scope == entry.scope for each in self._of(kind)) >= limit:
                raise TooManyEntries(f"{kind.name}s", limit)
            return self._entries.setdefault((kind.name, entry.key), entry) is entry

    def add_under(
        self, parent: Kind[P], key: str, kind: Kind[T], make: Callable[[P, Sequence[T]], T]
    ) -> tuple[T, bool] | None:
        with self._lock:
            above: P | None = self._entries.get((parent.name, key))
            if above is None:
                return None
            made = make(above, [each for each in self.active(kind) if each.scope == key])
            new = self.add(kind, made)
            return self._entries[kind.name, made.key], new

    def get(self, kind: Kind[T], key: str) -> T | None:
        with self._lock:
            found: T | None = self._entries.get((kind.name, key))
            return found

    def list(self, kind: Kind[T], scope: str, *, after: str | None, limit: int, newest_first: bool = False) -> Sequence[T]:
        found = sorted((each for each in self._of(kind) if each.scope == scope), key=lambda each: each.rank)
        if newest_first:
            found.reverse()
        behind = [each for each in found if after is None or (each.rank < after if newest_first else each.rank > after)]
        return behind[:limit]

    def active(self, kind: Kind[T]) -> Sequence[T]:
        return sorted((each for each in self._of(kind) if each.active), key=lambda each: each.rank)

    def change(self, kind: Kind[T], key: str, change: Callable[[T], T]) -> T | None:
        with self._lock:
            if (kind.name, key) not in self._entries:
                return None
            changed: T = change(self._entries[kind.name, key])
            self._entries[kind.name, key] = changed
            return changed

    def delete(self, kind: Kind[T], key: str) -> bool:
        with self._lock:
            return self._entries.pop((kind.name, key), None) is not None

    def delete_scope(self, kind: Kind[T], scope: str) -> None:
        with self._lock:
            for each in self._of(kind):
                if each.scope == scope:
                    del self._entries[kind.name, each.key]

    def _of(self, kind: Kind[T]) -> Sequence[T]:
        with self._lock:
            return [each for (name, _), each in self._entries.items() if name == kind.name]
