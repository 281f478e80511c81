"""What the finder of work finds, over files and over PostgreSQL."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.crawl.model import Crawler
from penstock.jobs.model import RUNS, JobRun
from penstock.jobs.triggers import TRIGGERS, Trigger
from penstock.statements.model import StatementState
from penstock.store.sql.attention import WorkFinder
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from penstock.store.sql.migrate import migrate
from penstock.store.sql.statements import SqlStatementStore
from penstock.store.sql.tenancy import of_account
from penstock.testing.suites.statements import statement

MAIN, OTHER, UNUSED = "000000000000", "111122223333", "444455556666"
NOW = datetime(2026, 11, 24, 12, 0, 0, 250_000, tzinfo=UTC)
CRAWLER = Crawler(name="c", role="r", creation_time=NOW, last_updated=NOW)


def trigger(name: str, **changes: object) -> Trigger:
    made = Trigger(name=name, type="CONDITIONAL", settings={}, state="ACTIVATED")
    return replace(made, **changes)  # type: ignore[arg-type]


def crawl_schedule(database: Database) -> Callable[[], object]:
    store = SqlCrawlStore(database)
    store.create(replace(CRAWLER, next_run=NOW.replace(microsecond=0)))
    return lambda: store.change("c", lambda crawler: replace(crawler, next_run=NOW + timedelta(seconds=1)))


def running_crawl(database: Database) -> Callable[[], object]:
    store = SqlCrawlStore(database)
    store.create(replace(CRAWLER, state="RUNNING"))
    return lambda: store.change("c", lambda crawler: replace(crawler, state="READY"))


def schedule(database: Database) -> Callable[[], object]:
    store = SqlJobStore(database)
    store.add(TRIGGERS, trigger("t", type="SCHEDULED", next_run=NOW))
    return lambda: store.change(TRIGGERS, "t", lambda stored: replace(stored, next_run=NOW + timedelta(minutes=1)))


def waiting_for_a_crawl(database: Database) -> Callable[[], object]:
    store = SqlJobStore(database)
    store.add(TRIGGERS, trigger("t", settings={"Predicate": {"Conditions": [{"CrawlerName": "c"}]}}))
    return lambda: store.change(TRIGGERS, "t", lambda stored: replace(stored, state="DEACTIVATED"))


def run(database: Database) -> Callable[[], object]:
    store = SqlJobStore(database)
    store.add(RUNS, JobRun(id="jr_1", job="j", settings={}, started=NOW, modified=NOW))
    return lambda: store.change(RUNS, "jr_1", lambda stored: replace(stored, handled=True))


def queued_statement(database: Database) -> Callable[[], object]:
    store = SqlStatementStore(database)
    store.add(statement("a"))
    return lambda: store.finish(statement("a").id, StatementState.SUCCEEDED, at=NOW)


class WorkFinderSuite:
    """Fixture ``first`` is the database of :data:`MAIN`, which other accounts may have theirs beside."""

    @pytest.mark.parametrize("begin", [crawl_schedule, running_crawl, schedule, waiting_for_a_crawl, run, queued_statement])
    @pytest.mark.parametrize("account", [MAIN, OTHER])
    def test_an_account_is_found_while_it_has_something_to_do(
        self, first: Database, begin: Callable[[Database], Callable[[], object]], account: str
    ) -> None:
        with closing(of_account(first, OTHER)) as other:
            migrate(other)
            SqlJobStore(other).add(TRIGGERS, trigger("idle", settings={"Predicate": {"Conditions": [{"JobName": "j"}]}}))
            finder = WorkFinder(first, MAIN)

            def found() -> list[str]:
                return list(finder.find([OTHER, UNUSED], now=NOW))

            assert found() == []
            end = begin(first if account == MAIN else other)
            assert found() == [account]
            end()
            assert found() == []
