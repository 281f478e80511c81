"""The behaviour of the access store, over PostgreSQL."""

import pytest

from penstock.access.keys import AccessStore
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.testing.suites import AccessStoreSuite
from tests.unit.access.test_access_stores import (
    test_a_secret_moved_to_another_row_cannot_be_decrypted,
    test_another_master_key_decrypts_nothing_and_raises,
    test_audits_who_changed_what,
    test_reads_a_user_of_a_release_without_groups,
    test_the_database_has_no_secret_in_plain_text,
)

__all__ = [
    "test_a_secret_moved_to_another_row_cannot_be_decrypted",
    "test_another_master_key_decrypts_nothing_and_raises",
    "test_audits_who_changed_what",
    "test_reads_a_user_of_a_release_without_groups",
    "test_the_database_has_no_secret_in_plain_text",
]


class TestOnPostgresql(AccessStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> AccessStore:
        return SqlAccessStore(postgres_database, Sealer(bytes(32)))


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database
