"""Crawlers and their runs: kept, started, stopped, taken over by another server."""

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.crawl.errors import (
    CrawlerExists,
    CrawlerNotFound,
    CrawlerNotRunning,
    CrawlerRunning,
    CrawlerStopping,
)
from penstock.crawl.model import S3Target
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput
from penstock.owners import Ownership
from tests.unit.crawl.crawl_world import NOW, Unchecked, World, held_up, wait


def test_a_running_crawler_refuses_and_stops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Event(), threading.Event()
    held_up(monkeypatch, entered, lambda: go.wait(30))
    monkeypatch.setattr("penstock.crawl.runner._POLL_SECONDS", 0.0)
    world.write("flights/x.parquet")
    world.crawler()
    with pytest.raises(CrawlerNotRunning):
        world.crawls.stop("c")
    world.crawls.start("c")
    assert entered.wait(30)
    calls: list[Callable[[], object]] = [
        lambda: world.crawls.start("c"),
        lambda: world.crawls.delete("c"),
        lambda: world.crawls.update("c", lambda crawler: crawler),
    ]
    for refused in calls:
        with pytest.raises(CrawlerRunning):
            refused()
    world.crawls.stop("c")
    with pytest.raises(CrawlerStopping):
        world.crawls.stop("c")
    go.set()
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert (last.status, last.message) == ("CANCELLED", "Stopped on request.")


def test_what_a_dead_server_left_running_has_failed(world: World) -> None:
    world.crawler()
    started = datetime(2026, 11, 20, tzinfo=UTC)
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    running_elsewhere(
        world, f"{Ownership(dead_after=timedelta(seconds=20)).name.partition(':')[0]}:{dead.pid}:x", started=started
    )
    other = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    other.recover()
    assert other.get("c").state == "RUNNING", "its process lives"
    dead.communicate()
    other.recover()
    crawler = world.store.get("c")
    assert crawler is not None
    assert crawler.state == "READY"
    assert crawler.owner is None
    assert crawler.last_crawl is not None
    assert crawler.last_crawl.status == "FAILED"
    assert crawler.last_crawl.start_time == started
    assert "server ended" in str(crawler.last_crawl.message)
    assert world.crawl().status == "SUCCEEDED"


def test_a_crawl_of_a_machine_whose_clock_is_slow_goes_on(world: World) -> None:
    world.crawler()
    running_elsewhere(world, "elsewhere/0123456789abcdef:1:x", started=datetime(2026, 11, 20, tzinfo=UTC))
    world.store.change("c", lambda crawler: replace(crawler, heartbeat=datetime(2026, 11, 20, tzinfo=UTC)))
    other = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    other.recover()
    assert other.get("c").state == "RUNNING", "nobody has looked for long enough to know that it gives no sign of life"


def running_elsewhere(world: World, owner: str, *, started: datetime) -> None:
    now = datetime.now(UTC)
    world.store.change(
        "c",
        lambda crawler: replace(crawler, state="RUNNING", run_id="r", started=started, owner=owner, heartbeat=now),
    )


@pytest.mark.parametrize("look", ["get", "all", "page", "start", "update", "delete", "recover"])
def test_the_crawl_of_another_host_fails_after_its_silence(world: World, monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    world.crawler()
    running_elsewhere(world, "other-host:1:x", started=NOW)
    seconds = 0.0
    other = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    monkeypatch.setattr(other._ownership._ownership, "_monotonic", lambda: seconds)
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: other.get("c"),
        "all": other.all,
        "page": lambda: other.page(limit=5),
        "start": lambda: other.start("c"),
        "update": lambda: other.update("c", lambda crawler: crawler),
        "delete": lambda: other.delete("c"),
        "recover": other.recover,
    }
    with pytest.raises(CrawlerRunning) if look in {"start", "update", "delete"} else nullcontext():
        calls[look]()
    crawler = world.store.get("c")
    assert crawler is not None
    assert crawler.state == "RUNNING"
    seconds += 30
    calls[look]()
    other.close()
    crawler = world.store.get("c")
    if look == "delete":
        assert crawler is None
    else:
        assert crawler is not None
        assert crawler.run_id != "r"
        assert crawler.last_crawl is not None


def test_a_crawl_says_that_it_lives_and_another_server_lets_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Event(), threading.Event()
    held_up(monkeypatch, entered, lambda: go.wait(30))
    monkeypatch.setattr("penstock.crawl.ownership._HEARTBEAT_SECONDS", 0.01)
    world.write("flights/x.parquet")
    world.crawler()
    world.crawls.start("c")
    assert entered.wait(30)
    first = world.crawls.get("c")
    wait(lambda: world.crawls.get("c").heartbeat != first.heartbeat)
    CrawlService(world.store, world.catalog, world.lake, access=Unchecked).recover()
    running = world.crawls.get("c")
    assert (running.state, running.run_id) == ("RUNNING", first.run_id)
    go.set()
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert last.status == "SUCCEEDED"


def test_closing_cancels_what_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = threading.Event()
    held_up(monkeypatch, entered, lambda: wait(world.crawls._runner._closing.is_set))
    world.write("flights/x.parquet")
    world.crawler()
    world.crawls.start("c")
    assert entered.wait(30)
    world.crawls.close()
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert last.status == "CANCELLED"


def test_crawlers_are_kept_listed_and_deleted(world: World) -> None:
    world.crawler()
    with pytest.raises(CrawlerExists):
        world.crawler()
    made = world.crawls.get("c")
    assert (made.version, made.state, made.targets) == (1, "READY", (S3Target(path="s3://lake/flights/"),))
    world.crawls.update("c", lambda crawler: replace(crawler, description="d"))
    assert (world.crawls.get("c").version, world.crawls.get("c").description) == (2, "d")
    world.crawler(name="b")
    page = world.crawls.page(limit=1)
    assert [item.name for item in page.items] == ["b"]
    assert [item.name for item in world.crawls.page(limit=1, token=page.next_token).items] == ["c"]
    world.crawls.delete("c")
    for missing in (world.crawls.get, world.crawls.delete, world.crawls.start, world.crawls.stop):
        with pytest.raises(CrawlerNotFound):
            missing("c")


@pytest.mark.parametrize(
    "target", [S3Target(path="/etc/"), S3Target(path="s3://lake/../x"), S3Target(path="s3://lake/", exclusions=("{a",))]
)
def test_targets_that_cannot_be_crawled_are_refused(world: World, target: S3Target) -> None:
    with pytest.raises(InvalidInput):
        world.crawler(targets=(target,))
    with pytest.raises(InvalidInput, match="no target"):
        world.crawler(targets=())
