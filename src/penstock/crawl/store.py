"""The port through which crawlers are kept: each call one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from penstock.crawl.model import Crawler, LastCrawl, SeenFile

__all__ = ["Change", "CrawlStore", "interrupted"]

Change = Callable[[Crawler], Crawler]


def interrupted(crawler: Crawler, now: datetime, message: str) -> Crawler:
    """``crawler`` after a run that nobody will end: READY, its last crawl FAILED at ``now``."""
    last = LastCrawl(status="FAILED", message=message, start_time=crawler.started or now, end_time=now)
    return replace(crawler, state="READY", run_id=None, started=None, last_crawl=last)


class CrawlStore(Protocol):
    """Crawlers by name, and the files that each has read."""

    def create(self, crawler: Crawler) -> None:
        """Add; raise CrawlerExists."""

    def get(self, name: str) -> Crawler | None:
        """The crawler, or None."""

    def list(self, *, after: str | None, limit: int) -> Sequence[Crawler]:
        """Up to ``limit`` crawlers by name, behind ``after``."""

    def change(self, name: str, change: Change) -> Crawler:
        """Replace the crawler with what ``change`` makes of it, and return that; what it raises leaves it as it was.

        Nobody else changes the crawler meanwhile. Raises CrawlerNotFound.
        """

    def delete(self, name: str) -> None:
        """Remove the crawler and what it has seen; raise CrawlerNotFound, or CrawlerRunning unless it is READY."""

    def fail_running(self, now: datetime, message: str) -> Sequence[str]:
        """End every run that is not READY as FAILED with ``message``; return the crawlers' names."""

    def seen(self, name: str) -> Mapping[str, SeenFile]:
        """What the crawler has read, by URI."""

    def remember(self, name: str, seen: Sequence[SeenFile], gone: Sequence[str]) -> None:
        """Add or replace files of ``seen``, and forget the URIs of ``gone``. Does nothing for an unknown crawler."""
