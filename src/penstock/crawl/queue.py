"""A bounded queue of crawls and the few threads that run them, in the order of their start."""

import threading
import time
from collections.abc import Callable, Sequence

from penstock.crawl.errors import TooManyCrawls
from penstock.crawl.model import Crawler

__all__ = ["CrawlQueue"]


class CrawlQueue:
    """Runs crawls with ``run`` on up to ``workers`` threads; up to ``bound`` crawls run or wait."""

    def __init__(self, run: Callable[[Crawler], None], *, workers: int, bound: int) -> None:
        self._run = run
        self._workers = workers
        self._bound = bound
        self._changed = threading.Condition()
        self._waiting: dict[str, Crawler] = {}
        self._running: dict[str, Crawler] = {}
        self._reserved = 0
        self._threads: list[threading.Thread] = []
        self._closed = False

    def reserve(self) -> None:
        """Reserve a place for :meth:`put` or :meth:`release`. Raises :class:`TooManyCrawls` if the queue is full."""
        with self._changed:
            if self._closed or self._reserved + len(self._waiting) + len(self._running) >= self._bound:
                raise TooManyCrawls(self._bound)
            self._reserved += 1

    def release(self) -> None:
        """Release a reserved place."""
        with self._changed:
            self._reserved -= 1

    def put(self, crawler: Crawler) -> None:
        """Queue a crawl in the reserved place."""
        assert crawler.run_id is not None
        with self._changed:
            self._reserved -= 1
            self._waiting[crawler.run_id] = crawler
            if len(self._threads) < min(self._workers, len(self._waiting) + len(self._running)):
                name = f"penstock-crawl-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify()

    def withdraw(self, run_id: str) -> bool:
        """Remove a crawl that still waits, which the caller then ends; return whether it waited."""
        with self._changed:
            return self._waiting.pop(run_id, None) is not None

    def crawls(self) -> Sequence[Crawler]:
        """Return the crawls that wait or run, in their state when they were queued."""
        with self._changed:
            return [*self._running.values(), *self._waiting.values()]

    def close(self, timeout: float) -> Sequence[Crawler]:
        """Close the queue and wait up to ``timeout`` seconds for running crawls; return those that waited."""
        with self._changed:
            self._closed = True
            waiting = list(self._waiting.values())
            self._waiting.clear()
            self._changed.notify_all()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return waiting

    def _work(self) -> None:
        while (crawler := self._next()) is not None:
            assert crawler.run_id is not None
            try:
                self._run(crawler)
            finally:
                with self._changed:
                    del self._running[crawler.run_id]

    def _next(self) -> Crawler | None:
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            run_id = next(iter(self._waiting))
            self._running[run_id] = self._waiting.pop(run_id)
            return self._running[run_id]
