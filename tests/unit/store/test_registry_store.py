"""The behaviour of the registry store on SQLite, and what two processes on one database see."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.registry.model import (
    NewVersion,
    SchemaKey,
    Version,
)
from penstock.registry.store import RegistryStore
from penstock.store.sql import audit as audit_log
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from penstock.testing.suites import RegistryStoreSuite
from penstock.testing.suites.registry_batches import ANNE
from penstock.testing.suites.registry_values import KEY, LATER, add, present, registry, schema, version


class TestRegistryStore(RegistryStoreSuite):
    @pytest.fixture
    def store(self, any_database: Database) -> RegistryStore:
        return SqlRegistryStore(any_database)


def two_stores(databases: list[Database]) -> tuple[list[SqlRegistryStore], Version]:
    """A store on each of ``databases``, which are one, and the only version they hold."""
    stores = [SqlRegistryStore(database) for database in databases]
    stores[0].registries.add(registry(), {}, limit=10)
    return stores, present(stores[0].schemas.add(schema(latest=1, next_number=2), version(1), {}))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[list[SqlRegistryStore], Version]]:
    databases = [new_database(tmp_path / "penstock.db"), Database(f"sqlite:///{tmp_path / 'penstock.db'}")]
    yield two_stores(databases)
    for database in databases:
        database.close()


class TestTwoProcesses:
    """Two stores on one database stand for two processes: each has its own connections and its own cache."""

    def test_a_deletion_by_the_other_is_seen_at_once(self, pair: tuple[list[SqlRegistryStore], Version]) -> None:
        (one, two), first = pair
        assert two.versions.get(first.id) == first
        assert one.schemas.delete(KEY)
        assert two.versions.get(first.id) is None
        assert two.versions.find(KEY, first.fingerprint) is None

    def test_registrations_by_the_other_leave_the_cache_alone(
        self, pair: tuple[list[SqlRegistryStore], Version], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (one, two), first = pair
        assert two.versions.get(first.id) is two.versions.get(first.id)
        kept = two.versions.get(first.id)
        assert add(one, version(2), revision=0)
        assert two.versions.get(first.id) is kept
        assert one.deletion.delete(KEY, range(2, 3), LATER, revision=1) == [2]
        assert two.versions.get(first.id) is not kept
        assert two.versions.get(first.id) == first

    def test_a_body_read_before_a_deletion_is_not_kept_after_it(self, pair: tuple[list[SqlRegistryStore], Version]) -> None:
        (one, two), first = pair
        stamp = two.versions._cache.stamp()
        assert one.schemas.delete(KEY)
        two.versions._cache.stamp()
        two.versions._cache.put(first.id, first, stamp)
        assert two.versions.get(first.id) is None


def test_old_records_are_dropped_also_where_several_come_at_once(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "_PRUNE_EVERY", 5)
    monkeypatch.setattr(audit_log, "MAX_AUDIT_ENTRIES", 3)
    store = SqlRegistryStore(shared_database)
    store.registries.add(registry(), {}, limit=10)
    keys = [SchemaKey("r", name) for name in "abc"]
    for key in keys:
        store.schemas.add(schema(key), None, {})
    assert [entry.number for entry in store.audit.list(None, 10, resource=None)] == [4, 3, 2, 1]
    store.versions.add([NewVersion(version=version(1, key), revision=0, actor=ANNE) for key in keys])
    assert [entry.number for entry in store.audit.list(None, 10, resource=None)] == [7, 6, 5, 4, 3]


def test_versions_read_after_a_schema_are_no_older_than_it(shared_database: Database) -> None:
    mine, other = SqlRegistryStore(shared_database), SqlRegistryStore(shared_database)
    mine.registries.add(registry(), {}, limit=10)
    first = present(mine.schemas.add(schema(latest=1, next_number=2), version(1), {}))
    with mine.versions.session():
        assert mine.versions.get(first.id) == first
        other.schemas.delete(KEY)
        assert mine.versions.get_effective_schema(KEY) is None
        assert mine.versions.get(first.id) is None


def test_sessions_of_many_threads_do_not_wait_for_each_others_connections(shared_database: Database) -> None:
    store = SqlRegistryStore(shared_database)
    store.registries.add(registry(), {}, limit=10)
    first = present(store.schemas.add(schema(latest=1, next_number=2), version(1), {}))
    count = 20  # more than the connections that a pool of SQLAlchemy's has by itself
    barrier = threading.Barrier(count)
    test_sessions: list[str] = []
    wrong: list[Exception] = []

    def read() -> None:
        try:
            with store.versions.session():
                barrier.wait()
                # One over the session's own connection, one over another.
                test_sessions.extend(
                    (present(store.versions.get_numbered(KEY, 1)).id, store.versions.list(KEY, None, 10)[0].id)
                )
        except Exception as error:  # noqa: BLE001 -- the assertion below shows it
            barrier.abort()
            wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert test_sessions == [first.id] * 2 * count
