"""Crawls that wait: how many there may be, and how they end."""

import threading
from collections.abc import Callable, Iterator

import pytest

from penstock.crawl.errors import TooManyCrawls
from penstock.crawl.model import Crawler
from penstock.crawl.service import CrawlService
from penstock.errors import StorageFull
from tests.unit.crawl.crawl_world import Unchecked, World, held_up, wait


@pytest.fixture
def crowd(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Crawlers c0 to c6: two of the first four run and stand still until the event is set, two wait; four is the bound."""
    monkeypatch.setattr("penstock.crawl.runner._MAX_CRAWLS", 4)
    monkeypatch.setattr("penstock.crawl.runner._POLL_SECONDS", 0.0)
    monkeypatch.setattr("penstock.crawl.ownership._HEARTBEAT_SECONDS", 0.01)
    world.crawls = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    entered, go = threading.Event(), threading.Event()
    held_up(monkeypatch, entered, lambda: go.wait(30))
    for number in range(7):
        world.write(f"f{number}/x.parquet")
        world.crawler(f"s3://lake/f{number}/", name=f"c{number}")
    before = threading.active_count()
    for number in range(4):
        world.crawls.start(f"c{number}")
    assert entered.wait(30)
    # Two crawls, the reader of each one's file, and the one that says that all of them live.
    assert threading.active_count() <= before + 5
    yield go
    go.set()
    world.crawls.close()


def test_crawls_beyond_the_bound_are_refused_and_leave_the_crawler_as_it_was(world: World, crowd: threading.Event) -> None:
    with pytest.raises(TooManyCrawls, match="4 crawls are running or waiting"):
        world.crawls.start("c4")
    assert world.crawls.get("c4").state == "READY"
    assert [world.crawls.get(f"c{number}").state for number in range(4)] == ["RUNNING"] * 4
    crowd.set()
    wait(lambda: all(world.crawls.get(f"c{number}").state == "READY" for number in range(4)))
    last = [world.crawls.get(f"c{number}").last_crawl for number in range(4)]
    assert [(last_crawl.status, last_crawl.message) for last_crawl in last if last_crawl is not None] == [
        ("SUCCEEDED", None)
    ] * 4
    world.crawls.start("c4")


def test_a_crawl_that_waits_is_stopped_at_once_and_its_place_is_free(world: World, crowd: threading.Event) -> None:
    world.crawls.stop("c2")
    stopped = world.crawls.get("c2")
    assert stopped.state == "READY"
    assert stopped.last_crawl is not None
    assert (stopped.last_crawl.status, stopped.last_crawl.message) == ("CANCELLED", "Stopped on request.")
    world.crawls.start("c4")


def test_a_crawl_that_waits_elsewhere_is_stopped_through_the_store(world: World, crowd: threading.Event) -> None:
    other = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    other.stop("c3")
    wait(lambda: world.crawls.get("c3").state == "READY")
    other.close()


def test_closing_cancels_what_waits(world: World, crowd: threading.Event) -> None:
    closing = threading.Thread(target=world.crawls.close)
    closing.start()
    wait(world.crawls._runner._closing.is_set)
    crowd.set()
    closing.join()
    for number in range(4):
        last = world.crawls.get(f"c{number}").last_crawl
        assert last is not None
        assert (last.status, last.message) == ("CANCELLED", "The server was shut down.")


def test_an_end_that_the_store_cannot_take_is_recorded_once_it_can(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.crawl.ownership._HEARTBEAT_SECONDS", 0.01)
    world.crawls = CrawlService(world.store, world.catalog, world.lake, access=Unchecked)
    world.write("f/x.parquet")
    world.crawler("s3://lake/f/")
    refused, change = threading.Event(), world.store.change

    def full(name: str, changed: Callable[[Crawler], Crawler]) -> Crawler:
        def checked(current: Crawler) -> Crawler:
            after = changed(current)
            if after.state == "READY" and not refused.is_set():
                refused.set()
                raise StorageFull("The disk of the store is full.")
            return after

        return change(name, checked)

    monkeypatch.setattr(world.store, "change", full)
    last = world.crawl()
    assert refused.is_set()
    assert last.status == "SUCCEEDED"
    world.crawls.close()
