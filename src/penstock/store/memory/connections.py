"""Connections in memory, for tests and trials."""

import threading
from collections.abc import Callable, Sequence

from penstock.catalog.connections import Connection, ConnectionExists, ConnectionNotFound

__all__ = ["MemoryConnectionStore"]


class MemoryConnectionStore:
    """A :class:`~penstock.catalog.connections.ConnectionStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connections: dict[str, Connection] = {}

    def create(self, connection: Connection) -> None:
        with self._lock:
            if connection.name in self._connections:
                raise ConnectionExists(connection.name)
            self._connections[connection.name] = connection

    def get(self, name: str) -> Connection | None:
        with self._lock:
            return self._connections.get(name)

    def list(self, *, after: str | None, limit: int) -> Sequence[Connection]:
        with self._lock:
            names = sorted(name for name in self._connections if after is None or name > after)
            return [self._connections[name] for name in names[:limit]]

    def change(self, name: str, change: Callable[[Connection], Connection]) -> None:
        with self._lock:
            if name not in self._connections:
                raise ConnectionNotFound(name)
            self._connections[name] = change(self._connections[name])

    def delete(self, name: str) -> None:
        with self._lock:
            if self._connections.pop(name, None) is None:
                raise ConnectionNotFound(name)
