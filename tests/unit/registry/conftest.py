"""The registry's service over a store in memory; tests/unit/store runs the store's suite over files, too."""

import pytest

from penstock.registry.model import RegistryLimits
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database


@pytest.fixture
def store() -> RegistryStore:
    return SqlRegistryStore(new_database())


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store, limits=RegistryLimits(metadata_per_version=2, tags=2, registries=3))
    service.registries.create("r")
    return service
