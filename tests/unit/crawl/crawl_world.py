"""A world of crawlers over real Parquet files in a folder, and hands to hold them up."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.catalog.service import CatalogService
from penstock.crawl.formats import containers
from penstock.crawl.model import Crawler, LastCrawl, S3Target
from penstock.crawl.service import CrawlService
from penstock.crawl.store import CrawlStore
from penstock.lake.locations import LakeFolder
from penstock.lake.statistics import read_parquet_footer

NOW = datetime(2026, 11, 21, tzinfo=UTC)


class Unchecked:
    """A :class:`~penstock.crawl.access.CrawlAccess` that allows everything."""

    def __init__(self, *_: object) -> None:
        pass

    def check_start(self) -> None:
        pass

    def check(self, operation: str, request: Mapping[str, Any]) -> None:
        pass

    def check_files(self, action: str, uris: Sequence[str], table: tuple[str, str] | None = None, /) -> Sequence[str]:
        return ["s3://"]

    def changed(self, operation: str, request: Mapping[str, Any]) -> None:
        pass


class World:
    """A lake, a catalog and crawlers over it."""

    def __init__(self, root: Path, catalog: CatalogService, store: CrawlStore) -> None:
        self.lake = LakeFolder(root)
        self.catalog = catalog
        self.store = store
        self.crawls = CrawlService(store, catalog, self.lake, access=Unchecked)
        (root / "lake").mkdir()

    def write(self, key: str, **columns: Any) -> Path:
        path = self.lake.root / "lake" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns or {"id": pa.array([1, 2], pa.int64())}), path)
        return path

    def crawler(self, path: str = "s3://lake/flights/", **changes: Any) -> None:
        made = Crawler(
            name="c", role="r", database="air", targets=(S3Target(path=path),), creation_time=NOW, last_updated=NOW
        )
        self.crawls.create(replace(made, **changes))

    def crawl(self) -> LastCrawl:
        self.crawls.start("c")
        wait(lambda: self.crawls.get("c").state == "READY")
        last = self.crawls.get("c").last_crawl
        assert last is not None
        return last

    def values(self, table: str = "flights") -> list[tuple[str, ...]]:
        return [tuple(partition.values) for partition in self.catalog.partitions("air", table)]

    def columns(self, table: str = "flights") -> dict[str, str | None]:
        return {column.name: column.type for column in self.catalog.table("air", table).storage.columns}


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in 30 s"
        time.sleep(0.005)


def held_up(monkeypatch: pytest.MonkeyPatch, entered: threading.Event, until: Callable[[], object]) -> None:
    """Files are read once ``until`` has returned; ``entered`` is set when the first one is asked for."""

    def slow(path: Path) -> Any:
        entered.set()
        assert until() is not False
        return read_parquet_footer(path)

    monkeypatch.setattr(containers, "read_parquet_footer", slow)
