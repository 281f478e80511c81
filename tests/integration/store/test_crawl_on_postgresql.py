"""Crawls over PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.service import CatalogService
from penstock.crawl.store import CrawlStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.testing.suites import CrawlStoreSuite
from tests.unit.crawl.crawl_world import World
from tests.unit.crawl.test_crawl_policies import *  # noqa: F403
from tests.unit.crawl.test_crawl_runs import *  # noqa: F403
from tests.unit.crawl.test_crawl_service import *  # noqa: F403


class TestOnPostgresql(CrawlStoreSuite):
    @pytest.fixture
    def store(self, postgres_database: Database) -> CrawlStore:
        return SqlCrawlStore(postgres_database)


@pytest.fixture
def world(postgres_database: Database, tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "buckets"
    root.mkdir()
    catalog = CatalogService(SqlCatalogStore(postgres_database))
    made = World(root, catalog, SqlCrawlStore(postgres_database))
    yield made
    made.crawls.close()
