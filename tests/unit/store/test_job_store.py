"""The behaviour of the store of jobs on SQLite."""

import pytest

from penstock.jobs.store import JobStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.suites import JobStoreSuite


class TestJobStores(JobStoreSuite):
    @pytest.fixture
    def store(self, any_database: Database) -> JobStore:
        return SqlJobStore(any_database)
