"""The behaviour of the store of jobs, over PostgreSQL."""

import pytest

from penstock.jobs.store import JobStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.suites import JobStoreSuite


class TestOnPostgresql(JobStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> JobStore:
        return SqlJobStore(postgres_database)
