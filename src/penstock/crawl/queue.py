"""A bounded queue of crawls and the few threads that run them, in the order in which they were started."""

import threading
import time
from collections.abc import Callable, Sequence

from penstock.crawl.errors import TooManyCrawls
from penstock.crawl.model import Crawler

__all__ = ["CrawlQueue"]


class CrawlQueue:
    """Runs crawls with ``run`` on up to ``workers`` threads; together with those that wait there are up to ``bound``."""

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
        """Take a place, for :meth:`put` or :meth:`release`; :class:`TooManyCrawls` where there is none."""
        with self._changed:
            if self._closed or self._reserved + len(self._waiting) + len(self._running) >= self._bound:
                raise TooManyCrawls(self._bound)
            self._reserved += 1

    def release(self) -> None:
        """Give a reserved place back."""
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
        """Take a crawl out that still waits, which is then the caller's to end; whether it did."""
        with self._changed:
            return self._waiting.pop(run_id, None) is not None

    def crawls(self) -> Sequence[Crawler]:
        """Those that wait or run, as they were when they were queued."""
        with self._changed:
            return [*self._running.values(), *self._waiting.values()]

    def close(self, timeout: float) -> Sequence[Crawler]:
        """Take no more, wait up to ``timeout`` seconds for what runs; what waited, which is then the caller's to end."""
        with self._changed:
            self._closed = True
            left = list(self._waiting.values())
            self._waiting.clear()
            self._changed.notify_all()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return left

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
