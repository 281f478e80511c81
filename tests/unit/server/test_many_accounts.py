"""A server with many accounts does nothing for those that have nothing to do: not at its start, and not afterwards."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.access.audit.log import NullAuditSink
from penstock.crawl.model import Crawler
from penstock.retries import wait_until
from penstock.server.wiring import Services, prepare, wire
from penstock.settings.server import ServerSettings
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import beside
from penstock.testing.sqlite import new_database

ACCOUNTS = 12
DUE = datetime(2026, 11, 24, tzinfo=UTC)


def database_of(settings: ServerSettings, account: str) -> str:
    """The URL of an account's store."""
    scheme = "sqlite:///"
    return f"{scheme}{beside(Path(settings.store_url.removeprefix(scheme)), account)}"


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    store = tmp_path / "penstock.db"
    return ServerSettings(
        store_url=f"sqlite:///{store}", lake=tmp_path / "lake", account_lakes=tmp_path / "lakes",
        master_key_file=tmp_path / "master.key",
    )  # fmt: skip


@pytest.fixture
def accounts(settings: ServerSettings) -> list[str]:
    """Accounts with databases, in none of which is anything to do."""
    prepare(settings)
    services = wire(settings, NullAuditSink())
    names = [services.directory.accounts.create(f"a{number}", f"a{number}@example.com").id for number in range(ACCOUNTS)]
    services.close()
    for name in names:
        new_database(Path(database_of(settings, name).removeprefix("sqlite:///"))).close()
    return names


@pytest.fixture
def services(settings: ServerSettings, accounts: list[str]) -> Iterator[Services]:
    assert accounts
    prepare(settings)
    services = wire(settings, NullAuditSink())
    yield services
    services.close()


def test_no_services_and_no_threads_are_started_for_idle_accounts(
    settings: ServerSettings, accounts: list[str], services: Services
) -> None:
    services.tenants.begin()
    threads = threading.active_count()
    services.attendant.look()
    assert [name for name in accounts if services.tenants.running(name)] == []
    assert threading.active_count() == threads
    with closing(Database(database_of(settings, accounts[3]))) as database:
        crawler = Crawler(
            name="c", role="r", creation_time=DUE, last_updated=DUE, schedule="cron(0 0 * * ? *)", next_run=DUE
        )
        SqlCrawlStore(database).create(crawler)
        services.attendant.look()
        assert [name for name in accounts if services.tenants.running(name)] == [accounts[3]]
        assert wait_until(lambda: SqlCrawlStore(database).list(after=None, limit=1)[0].next_run != DUE, seconds=60)
