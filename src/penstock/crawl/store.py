"""The port through which crawlers are kept: each call one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from penstock.crawl.model import Crawler, SeenFile

__all__ = ["Change", "CrawlStore"]

Change = Callable[[Crawler], Crawler]


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

    def running(self) -> Sequence[Crawler]:
        """The crawlers that are not READY."""

    def seen(self, name: str) -> Mapping[str, SeenFile]:
        """What the crawler has read, by URI."""

    def remember(self, name: str, seen: Sequence[SeenFile], gone: Sequence[str]) -> None:
        """Add or replace files of ``seen``, and forget the URIs of ``gone``. Does nothing for an unknown crawler."""
