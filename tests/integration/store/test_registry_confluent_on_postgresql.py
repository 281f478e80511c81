"""References, inherited configurations, imports and soft deletion, over PostgreSQL."""

import pytest

from penstock.registry.store import RegistryStore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from tests.unit.registry.confluent.conftest import service
from tests.unit.registry.confluent.test_registry_imports import *  # noqa: F403
from tests.unit.registry.confluent.test_registry_references import *  # noqa: F403
from tests.unit.registry.confluent.test_scope_configs import *  # noqa: F403
from tests.unit.registry.confluent.test_soft_deletion import *  # noqa: F403

__all__ = ["service"]


@pytest.fixture
def store(postgres_database: Database) -> RegistryStore:
    return SqlRegistryStore(postgres_database)
