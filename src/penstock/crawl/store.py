"""The port that stores crawlers; each call is one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from penstock.crawl.model import Crawler, SeenFile

__all__ = ["Change", "CrawlStore"]

Change = Callable[[Crawler], Crawler]


class CrawlStore(Protocol):
    """Crawlers by name, and the files that each has read."""

    def create(self, crawler: Crawler) -> None:
        """Add a crawler. Raises CrawlerExists."""

    def get(self, name: str) -> Crawler | None:
        """Return the crawler, or None."""

    def list(self, *, after: str | None, limit: int) -> Sequence[Crawler]:
        """Return up to ``limit`` crawlers by name, after ``after``."""

    def change(self, name: str, change: Change) -> Crawler:
        """Replace the crawler by the value that ``change`` returns, and return it; if it raises, nothing changes.

        No other caller changes the crawler meanwhile. Raises CrawlerNotFound.
        """

    def delete(self, name: str) -> None:
        """Remove the crawler and its seen files. Raises CrawlerNotFound, or CrawlerRunning unless it is READY."""

    def running(self) -> Sequence[Crawler]:
        """Return the crawlers that are not READY."""

    def seen(self, name: str) -> Mapping[str, SeenFile]:
        """Return the files that the crawler has read, by URI."""

    def remember(self, name: str, seen: Sequence[SeenFile], gone: Sequence[str]) -> None:
        """Add or replace files of ``seen``, and delete the URIs of ``gone``. Does nothing for an unknown crawler."""
