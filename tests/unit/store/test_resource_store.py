"""The behaviour of every store of Athena's resources, over memory and SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.statements.resources import ResourceStore
from penstock.store.memory.resources import MemoryResourceStore
from penstock.store.sql.database import Database
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.suites import ResourceStoreSuite


class TestResourceStores(ResourceStoreSuite):
    @pytest.fixture(params=["memory", "sqlite"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResourceStore]:
        if request.param == "memory":
            yield MemoryResourceStore()
            return
        database = Database(f"sqlite:///{tmp_path / 'store.db'}")
        database.create_all()
        yield SqlResourceStore(database)
        database.close()
