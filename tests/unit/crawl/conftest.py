"""The crawlers' world over each store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.service import CatalogService
from penstock.store.memory.catalog import MemoryCatalogStore
from penstock.store.memory.crawl import MemoryCrawlStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from tests.unit.crawl.crawl_world import World


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "buckets"
    root.mkdir()
    if request.param == "memory":
        made = World(root, CatalogService(MemoryCatalogStore()), MemoryCrawlStore())
        yield made
        made.crawls.close()
        return
    sql = Database(f"sqlite:///{tmp_path / 'store.db'}")
    sql.create_all()
    made = World(root, CatalogService(SqlCatalogStore(sql)), SqlCrawlStore(sql))
    yield made
    made.crawls.close()
    sql.close()
