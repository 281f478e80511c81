"""The behaviour of the access store, over PostgreSQL."""

import pytest

from penstock.access.keys import AccessStore
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.testing.suites import AccessStoreSuite
from tests.unit.access.test_access_stores import (
    test_a_secret_moved_to_another_row_does_not_open,
    test_another_master_key_opens_nothing_and_says_so,
    test_no_secret_lies_in_the_database_in_clear,
    test_reads_a_user_of_a_release_without_groups,
    test_records_who_changed_what,
)

__all__ = [
    "test_a_secret_moved_to_another_row_does_not_open",
    "test_another_master_key_opens_nothing_and_says_so",
    "test_no_secret_lies_in_the_database_in_clear",
    "test_reads_a_user_of_a_release_without_groups",
    "test_records_who_changed_what",
]


class TestOnPostgresql(AccessStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> AccessStore:
        return SqlAccessStore(postgres_database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
