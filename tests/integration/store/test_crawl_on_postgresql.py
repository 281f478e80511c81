"""Crawls over PostgreSQL."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog.service import CatalogService
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database

_SUITE = import_module("tests.unit.crawl.test_crawl_service")
globals().update({name: value for name, value in vars(_SUITE).items() if not name.startswith("_")})


@pytest.fixture
def world(postgres_database: Database, tmp_path: Path) -> Iterator[Any]:
    root = tmp_path / "buckets"
    root.mkdir()
    catalog = CatalogService(SqlCatalogStore(postgres_database))
    made = _SUITE.World(root, catalog, SqlCrawlStore(postgres_database))
    yield made
    made.crawls.close()
