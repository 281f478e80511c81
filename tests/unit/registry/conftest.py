"""The registry's store on SQLite, in a file: some tests register from several threads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.registry.model import RegistryLimits
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RegistryStore]:
    database = new_database(tmp_path / "penstock.db")
    yield SqlRegistryStore(database)
    database.close()


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store, limits=RegistryLimits(metadata_per_version=2, tags=2, registries=3))
    service.registries.create("r")
    return service
