"""The behaviour of every crawl store, over memory and SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.crawl.store import CrawlStore
from penstock.store.memory.crawl import MemoryCrawlStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.database import Database
from penstock.testing.suites import CrawlStoreSuite


class TestInMemory(CrawlStoreSuite):
    @pytest.fixture
    def store(self) -> CrawlStore:
        return MemoryCrawlStore()


class TestOnSqlite(CrawlStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[CrawlStore]:
        # A file: in memory all threads would share one connection.
        database = Database(f"sqlite:///{tmp_path / 'store.db'}")
        database.create_all()
        yield SqlCrawlStore(database)
        database.close()
