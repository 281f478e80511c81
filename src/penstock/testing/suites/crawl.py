"""The behaviour of every :class:`~penstock.crawl.store.CrawlStore`."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access.principals import Caller, SessionContext
from penstock.catalog.model import Column
from penstock.crawl.access import Starter
from penstock.crawl.errors import CrawlerExists, CrawlerNotFound, CrawlerRunning
from penstock.crawl.model import (
    CatalogTarget,
    Crawler,
    DeltaTarget,
    DynamoTarget,
    IcebergTarget,
    JdbcTarget,
    LastCrawl,
    S3Target,
    SchemaChangePolicy,
    SeenFile,
    Tally,
)
from penstock.crawl.store import CrawlStore

__all__ = ["CrawlStoreSuite"]

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
TALLY = Tally(files_found=3, files_read=2, problems=("s3://lake/a/b.parquet is damaged.",), problem_count=1)
CRAWLER = Crawler(
    name="flights",
    role="arn:aws:iam::111122223333:role/crawler",
    database="air",
    description="of the lake, für alle",
    targets=(S3Target(path="s3://lake/flights/", exclusions=("*.tmp",)),),
    starter=Starter(
        caller=Caller(
            account="111122223333",
            principal="arn:aws:sts::111122223333:assumed-role/etl/ana",
            session=SessionContext(issued=1, expires=2, role="arn:aws:iam::111122223333:role/etl", policies=("{}",)),
        ),
        action="CreateCrawler",
        client="192.0.2.1",
    ),
    others=(
        JdbcTarget(connection="db", path="air/public/%", exclusions=("x*",), metadata=("COMMENTS",)),
        DynamoTarget(table="airports", scan_all=False, scan_rate=0.5),
        CatalogTarget(database="air", tables=("flights",)),
        IcebergTarget(paths=("s3://lake/ice/",), depth=3),
        DeltaTarget(paths=("s3://lake/delta/",)),
    ),
    classifiers=("logs",),
    policy=SchemaChangePolicy(),
    table_prefix="raw_",
    configuration='{"Version":1.0}',
    tags={"team": "data"},
    extra={"RecrawlPolicy": {"RecrawlBehavior": "CRAWL_EVERYTHING"}},
    creation_time=NOW,
    last_updated=NOW,
    last_crawl=LastCrawl(status="SUCCEEDED", message="2 files.", start_time=NOW, end_time=NOW, tally=TALLY),
    runtimes=(1.5, 2.0),
    totals=TALLY,
)
RUNNING = replace(CRAWLER, name="running", state="RUNNING", run_id="r1", started=NOW, owner="host:1:x", heartbeat=NOW)


def seen(name: str, **members: Any) -> SeenFile:
    """A file that was read; ``members`` are those of :class:`SeenFile` that differ."""
    columns = (Column(name="id", type="bigint"), Column(name="at", type="struct<a:int>"))
    file = SeenFile(uri=f"s3://lake/flights/{name}", size=2**40, modified=10**18, rows=7, columns=columns)
    return replace(file, **members)


class CrawlStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.crawl.store.CrawlStore`; threads use it at the same time."""

    def test_crawlers_come_back_as_they_went_in(self, store: CrawlStore) -> None:
        for crawler in (CRAWLER, RUNNING):
            store.create(crawler)
            assert store.get(crawler.name) == crawler
        assert store.get("FLIGHTS") is None
        with pytest.raises(CrawlerExists):
            store.create(replace(CRAWLER, role="another"))
        assert store.get("flights") == CRAWLER

    def test_crawlers_are_listed_by_name(self, store: CrawlStore) -> None:
        for name in ("c", "a", "b"):
            store.create(replace(CRAWLER, name=name))
        assert [crawler.name for crawler in store.list(after=None, limit=2)] == ["a", "b"]
        assert [crawler.name for crawler in store.list(after="b", limit=2)] == ["c"]

    def test_those_that_run_are_known(self, store: CrawlStore) -> None:
        for crawler in (CRAWLER, RUNNING, replace(RUNNING, name="a", state="STOPPING")):
            store.create(crawler)
        assert sorted(item.name for item in store.running()) == ["a", "running"]

    def test_a_change_that_raises_changes_nothing(self, store: CrawlStore) -> None:
        store.create(CRAWLER)
        changed = store.change("flights", lambda crawler: replace(crawler, description=None, version=2))
        assert changed == store.get("flights") == replace(CRAWLER, description=None, version=2)

        def refuse(_: Crawler) -> Crawler:
            raise CrawlerRunning("flights")

        with pytest.raises(CrawlerRunning):
            store.change("flights", refuse)
        assert store.get("flights") == changed
        with pytest.raises(CrawlerNotFound):
            store.change("missing", refuse)

    def test_changes_at_the_same_instant_are_all_kept(self, store: CrawlStore) -> None:
        store.create(CRAWLER)
        barrier = threading.Barrier(8)

        def count() -> None:
            barrier.wait()
            store.change("flights", lambda crawler: replace(crawler, version=crawler.version + 1))

        threads = [threading.Thread(target=count) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stored = store.get("flights")
        assert stored is not None
        assert stored.version == CRAWLER.version + 8

    def test_one_that_runs_is_not_deleted(self, store: CrawlStore) -> None:
        store.create(RUNNING)
        with pytest.raises(CrawlerRunning):
            store.delete("running")
        store.change("running", lambda crawler: replace(crawler, state="READY"))
        store.remember("running", [seen("a")], [])
        store.delete("running")
        assert store.get("running") is None
        assert store.seen("running") == {}
        with pytest.raises(CrawlerNotFound):
            store.delete("running")

    def test_files_are_remembered_replaced_and_forgotten(self, store: CrawlStore) -> None:
        for name in ("flights", "other"):
            store.create(replace(CRAWLER, name=name))
        first, second, damaged = seen("a"), seen("b ü"), seen("c", rows=0, columns=(), problem="It is damaged.")
        store.remember("flights", [first, second, damaged], [])
        assert store.seen("flights") == {file.uri: file for file in (first, second, damaged)}
        longer = replace(first, size=1, rows=8)
        store.remember("flights", [longer], [second.uri, "s3://lake/never"])
        assert store.seen("flights") == {file.uri: file for file in (longer, damaged)}
        assert store.seen("other") == {}

    def test_nothing_is_remembered_of_an_unknown_crawler(self, store: CrawlStore) -> None:
        store.remember("missing", [seen("a")], ["s3://lake/b"])
        assert store.seen("missing") == {}
        store.create(replace(CRAWLER, name="missing"))
        assert store.seen("missing") == {}
