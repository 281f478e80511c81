"""The behaviour of every store of jobs, over memory and SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.jobs.store import JobStore
from penstock.store.memory.jobs import MemoryJobStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.suites import JobStoreSuite


class TestJobStores(JobStoreSuite):
    @pytest.fixture(params=["memory", "sqlite"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
        if request.param == "memory":
            yield MemoryJobStore()
            return
        database = Database(f"sqlite:///{tmp_path / 'store.db'}")
        database.create_all()
        yield SqlJobStore(database)
        database.close()
