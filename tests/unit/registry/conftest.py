"""The registry's store, once in memory and once on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.registry.model import RegistryLimits
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.store.memory.registry import MemoryRegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RegistryStore]:
    if request.param == "memory":
        yield MemoryRegistryStore()
        return
    database = Database(f"sqlite:///{tmp_path / 'penstock.db'}")
    database.create_all()
    yield SqlRegistryStore(database)
    database.close()


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store, limits=RegistryLimits(metadata_per_version=2, tags=2, registries=3))
    service.registries.create("r")
    return service
