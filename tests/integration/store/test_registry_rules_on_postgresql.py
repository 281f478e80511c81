"""The rules of the registry's service, over PostgreSQL."""

import pytest

from penstock.registry.store import RegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from tests.unit.registry.conftest import service
from tests.unit.registry.test_registering_together import *  # noqa: F403
from tests.unit.registry.test_registration_rules import *  # noqa: F403
from tests.unit.registry.test_registry_service import *  # noqa: F403

__all__ = ["service"]


@pytest.fixture
def store(postgres_database: Database) -> RegistryStore:
    return SqlRegistryStore(postgres_database)
