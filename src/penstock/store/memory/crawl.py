"""Crawlers in memory, for tests and trials."""

import threading
from collections.abc import Mapping, Sequence

from penstock.crawl.errors import CrawlerExists, CrawlerNotFound, CrawlerRunning
from penstock.crawl.model import Crawler, SeenFile
from penstock.crawl.store import Change

__all__ = ["MemoryCrawlStore"]


class MemoryCrawlStore:
    """A :class:`~penstock.crawl.store.CrawlStore` of dictionaries behind one lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._crawlers: dict[str, Crawler] = {}
        self._seen: dict[str, dict[str, SeenFile]] = {}

    def create(self, crawler: Crawler) -> None:
        with self._lock:
            if crawler.name in self._crawlers:
                raise CrawlerExists(crawler.name)
            self._crawlers[crawler.name] = crawler
            self._seen[crawler.name] = {}

    def get(self, name: str) -> Crawler | None:
        with self._lock:
            return self._crawlers.get(name)

    def list(self, *, after: str | None, limit: int) -> Sequence[Crawler]:
        with self._lock:
            names = sorted(name for name in self._crawlers if after is None or name > after)
            return [self._crawlers[name] for name in names[:limit]]

    def change(self, name: str, change: Change) -> Crawler:
        with self._lock:
            if name not in self._crawlers:
                raise CrawlerNotFound(name)
            changed = self._crawlers[name] = change(self._crawlers[name])
            return changed

    def delete(self, name: str) -> None:
        with self._lock:
            if name not in self._crawlers:
                raise CrawlerNotFound(name)
            if self._crawlers[name].state != "READY":
                raise CrawlerRunning(name)
            del self._crawlers[name], self._seen[name]

    def running(self) -> Sequence[Crawler]:
        with self._lock:
            return [self._crawlers[name] for name in sorted(self._crawlers) if self._crawlers[name].state != "READY"]

    def seen(self, name: str) -> Mapping[str, SeenFile]:
        with self._lock:
            return dict(self._seen.get(name, {}))

    def remember(self, name: str, seen: Sequence[SeenFile], gone: Sequence[str]) -> None:
        with self._lock:
            known = self._seen.get(name)
            if known is None:
                return
            known.update((file.uri, file) for file in seen)
            for uri in gone:
                known.pop(uri, None)
