"""Crawls over PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.service import CatalogService
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from tests.unit.crawl.crawl_world import World
from tests.unit.crawl.test_crawl_policies import *  # noqa: F403
from tests.unit.crawl.test_crawl_runs import *  # noqa: F403
from tests.unit.crawl.test_crawl_service import *  # noqa: F403


@pytest.fixture
def world(postgres_database: Database, tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "buckets"
    root.mkdir()
    catalog = CatalogService(SqlCatalogStore(postgres_database))
    made = World(root, catalog, SqlCrawlStore(postgres_database))
    yield made
    made.crawls.close()
