"""The behaviour of the crawl store on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.crawl.store import CrawlStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.testing.sqlite import new_database
from penstock.testing.suites import CrawlStoreSuite


class TestCrawlStore(CrawlStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[CrawlStore]:
        # A file: several threads write to it at once.
        database = new_database(tmp_path / "store.db")
        yield SqlCrawlStore(database)
        database.close()
