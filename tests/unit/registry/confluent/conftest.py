"""The registry's service over each store, with registry ``r``."""

import pytest

from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore


@pytest.fixture
def service(store: RegistryStore) -> RegistryService:
    service = RegistryService(store)
    service.registries.create("r")
    return service
