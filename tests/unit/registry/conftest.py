"""The registry's store, once in memory and once on SQLite."""

import pytest

from penstock.store.memory.registry import MemoryRegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryRegistryStore()
        return
    database = Database(f"sqlite:///{tmp_path / 'penstock.db'}")
    database.create_all()
    yield SqlRegistryStore(database)
    database.close()
