"""The crawlers' world."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.service import CatalogService
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from tests.unit.crawl.crawl_world import World


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "buckets"
    root.mkdir()
    made = World(root, CatalogService(SqlCatalogStore(database)), SqlCrawlStore(database))
    yield made
    made.crawls.close()
