"""Immutable schema versions in memory, dropped as soon as any process deletes one.

The check costs one PRAGMA if the store is SQLite: ``data_version`` of an idle connection changes with every commit of
another connection, in this process or any other (https://www.sqlite.org/pragma.html#pragma_data_version). Only then is the
number of deletions read, and only if that grew is the cache cleared, so that registrations do not clear it. On PostgreSQL
the number is read each time, which is cheaper than reading the version.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock, local
from typing import Any

from sqlalchemy import Engine, event, select
from sqlalchemy.pool import PoolProxiedConnection, StaticPool

from penstock.caching import SharedCache
from penstock.registry.model import Version
from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct, Prepared, Row, once_per_dialect
from penstock.store.sql.registry.rows import to_version
from penstock.store.sql.registry.tables import registry_epoch

__all__ = ["VersionCache"]

_CAPACITY_CHARS = 16_000_000
_NOT_ASKED = -1
_OVERHEAD = 600  # characters' worth of a version's other members

_deletions = once_per_dialect(
    lambda dialect: Prepared(dialect, select(registry_epoch.c.number).where(registry_epoch.c.id == 1))
)


class VersionCache:
    """Versions by any key that always names the same one, up to 16 million characters."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._direct = Direct(database)
        self._deletions = _deletions(database)
        self._versions: SharedCache[Hashable, Version] = SharedCache(_CAPACITY_CHARS)
        self._lock = Lock()
        self._local = local()
        self._watcher: PoolProxiedConnection | None = None
        self._watched: Any = None  # the watcher's cursor, which is kept for its one statement
        self._data_version: int | None = None
        self._epoch: int | None = None
        event.listen(database.engine, "engine_disposed", self._close)
        # One connection for all: no other can commit, and this process clears the cache itself.
        self._alone = isinstance(database.engine.pool, StaticPool)

    def read(self, key: Hashable, query: Prepared, parameters: Row) -> Version | None:
        """Return the version that ``key`` names: from memory if none was deleted since, else the first row of ``query``."""
        stamp = self.stamp()
        cached = self._versions.peek(key)
        if cached is not None:
            return cached
        row = self._direct.first(query, parameters)
        if row is None:
            return None
        version = to_version(row)
        self.put(key, version, stamp)
        return version

    def put(self, key: Hashable, version: Version, stamp: int) -> None:
        """Keep a version read after :meth:`stamp` gave ``stamp``; not kept if a deletion came between."""
        with self._lock:
            if stamp == self._epoch:
                self._versions.put(key, version, weight=len(version.definition) + _OVERHEAD)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Inside the block, or until :meth:`refresh`, this thread uses the number of deletions that it first read."""
        if getattr(self._local, "stamp", None) is not None:
            yield
            return
        self._local.stamp = _NOT_ASKED
        try:
            yield
        finally:
            self._local.stamp = None

    def refresh(self) -> None:
        """Let this thread read the number of deletions again, because it has listed versions."""
        if getattr(self._local, "stamp", None) is not None:
            self._local.stamp = _NOT_ASKED

    def stamp(self) -> int:
        """Return the number of deletions so far, after dropping cached versions that may be deleted."""
        local_stamp: int | None = getattr(self._local, "stamp", None)
        if local_stamp is None:
            return self._asked()
        if local_stamp == _NOT_ASKED:
            local_stamp = self._local.stamp = self._asked()
        return local_stamp

    def _asked(self) -> int:
        if not self._database.is_sqlite:
            # Not under the lock, which would queue every thread behind one answer; a late answer changes nothing.
            number = self._read()
            with self._lock:
                self._move(number)
            return number
        with self._lock:
            if self._epoch is not None and (self._alone or not self._others_committed()):
                return self._epoch
            number = self._read()
            self._move(number)
            return number

    def forget(self) -> None:
        """Drop everything, after a deletion by this process."""
        with self._lock:
            self._versions.clear()
            self._epoch = None

    def _read(self) -> int:
        row = self._direct.first(self._deletions, {})
        number: int = row["number"] if row is not None else 0
        return number

    def _move(self, number: int) -> None:
        # The number only grows, also when a backup is restored.
        if self._epoch is None or number > self._epoch:
            self._versions.clear()
            self._epoch = number

    def _others_committed(self) -> bool:
        if self._watcher is None:
            self._watcher = self._database.engine.raw_connection()
            # Taken out of the pool for good; it is never used for anything else.
            self._watcher.detach()
            self._watched = self._watcher.cursor()
        version: int = self._watched.execute("PRAGMA data_version").fetchall()[0][0]
        changed = version != self._data_version
        self._data_version = version
        return changed

    def _close(self, _engine: Engine) -> None:
        with self._lock:
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
