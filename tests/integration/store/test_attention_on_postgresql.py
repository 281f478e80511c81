"""Which accounts have something to do, over PostgreSQL: asked with two statements, however many accounts there are."""

from contextlib import closing

import pytest
from sqlalchemy import event, text

from penstock.store.sql.attention import WorkFinder
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.store.sql.tenancy import of_account
from tests.unit.store.attention_suite import MAIN, NOW, WorkFinderSuite, schedule


class TestSchemas(WorkFinderSuite):
    @pytest.fixture
    def first(self, postgres_database: Database) -> Database:
        return postgres_database


def test_all_accounts_are_asked_about_at_once(postgres_database: Database) -> None:
    accounts = [f"{number:012}" for number in range(1, 6)]
    for account in accounts[:3]:
        with closing(of_account(postgres_database, account)) as database:
            migrate(database)
            schedule(database)
    # A server is killed between the two steps that make an account's tables.
    with postgres_database.write() as connection:
        connection.execute(text(f'CREATE SCHEMA "account_{accounts[3]}"'))
    sent: list[str] = []
    event.listen(postgres_database.engine, "after_cursor_execute", lambda *arguments: sent.append(arguments[2]))
    assert WorkFinder(postgres_database, MAIN).find(accounts, now=NOW) == accounts[:3]
    assert len([statement for statement in sent if "SELECT" in statement]) == 2
