"""Which process runs a crawl, as the store has it: heartbeats, the ends of crawls, and crawls whose process has died.

A crawl belongs to the process that started it, which stores a heartbeat every five seconds. If that process is gone (no such
process id on this host, no heartbeat for 20 seconds on others), the next read of the crawler marks the crawl as failed.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from penstock.crawl.errors import CrawlerNotFound, CrawlerRunning
from penstock.crawl.model import Crawler, CrawlRecord, LastCrawl, Tally
from penstock.crawl.queue import CrawlQueue
from penstock.crawl.store import CrawlStore
from penstock.owners import Ownership, Poller

__all__ = ["STOPPED", "CrawlOwnership"]

_LOG = logging.getLogger(__name__)
_HEARTBEAT_SECONDS = 5.0
_DEAD_AFTER = timedelta(seconds=20)
_LOST = "The server ended while this crawl was running. Start it again."
STOPPED = "Stopped on request."
_KEPT_RUNTIMES = 20
_KEPT_RECORDS = 50


class CrawlOwnership:
    """The crawls of this process in the store. ``queue`` has those that wait or run."""

    def __init__(self, store: CrawlStore, queue: CrawlQueue, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._queue = queue
        self._now = now
        self._ownership = Ownership(dead_after=_DEAD_AFTER, now=now)
        # Ended crawls that could not be stored, by run: the store was full or unavailable.
        self._unstored: dict[str, tuple[Crawler, LastCrawl]] = {}
        self._poller = Poller(
            self._look, name="penstock-crawls-live", what="recording that crawls go on", pause=_HEARTBEAT_SECONDS
        )

    def claim(self, name: str, run_id: str) -> Crawler | None:
        """Mark a crawler as running here, and return it; None if its crawl ``run_id`` was started before.

        Raises :class:`CrawlerNotFound`, :class:`CrawlerRunning`.
        """
        new = True

        def claimed(crawler: Crawler) -> Crawler:
            nonlocal new
            new = crawler.run_id != run_id and all(record.run_id != run_id for record in crawler.history)
            if not new:
                return crawler
            if crawler.state != "READY":
                raise CrawlerRunning(name)
            now = self._now()
            return replace(crawler, state="RUNNING", run_id=run_id, started=now, owner=self._ownership.name, heartbeat=now)

        crawler = self._store.change(name, claimed)
        return crawler if new else None

    def begin(self) -> None:
        """Store heartbeats from now on."""
        self._poller.begin()

    def close(self, timeout: float) -> None:
        """Store no more heartbeats; crawls that go on count as lost."""
        self._poller.close(timeout)
        self._ownership.close()

    def withdraw(self, crawler: Crawler) -> None:
        """End a stopping crawl if it waits here; a running one checks for itself."""
        if crawler.run_id is not None and self._queue.withdraw(crawler.run_id):
            self.cancel(crawler, STOPPED)

    def cancel(self, crawler: Crawler, reason: str) -> None:
        """End a crawl that did not begin."""
        started, now = crawler.started or self._now(), self._now()
        self.finish(crawler, LastCrawl(status="CANCELLED", message=reason, start_time=started, end_time=now))

    def finish(self, crawler: Crawler, last: LastCrawl) -> None:
        """Store the end of a crawl; where the store is unavailable, with the next heartbeats."""

        def end(current: Crawler) -> Crawler:
            if current.run_id != crawler.run_id:
                return current
            return replace(
                _ended(current, last),
                runtimes=(*current.runtimes, (last.end_time - last.start_time).total_seconds())[-_KEPT_RUNTIMES:],
                totals=_add(current.totals, last.tally),
            )

        assert crawler.run_id is not None
        try:
            self._store.change(crawler.name, end)
        except CrawlerNotFound:
            _LOG.warning("crawler %s was deleted: the end of its last crawl is not stored", crawler.name)
        except Exception:  # noqa: BLE001 - no caller would get it
            if crawler.run_id not in self._unstored:
                _LOG.exception("the end of crawler %s (%s) could not be recorded yet", crawler.name, last.status)
            self._unstored[crawler.run_id] = (crawler, last)
            return
        self._unstored.pop(crawler.run_id, None)
        _LOG.info("crawler %s: %s. %s", crawler.name, last.status, last.message or last.tally.summary())

    def forget_all_but(self, crawlers: Sequence[Crawler]) -> None:
        """Forget the heartbeats of all crawls but these, which run."""
        self._ownership.forget_all_but({crawler.run_id or "" for crawler in crawlers})

    def fail_lost(self, crawler: Crawler) -> bool:
        """Fail a crawl if its process has died; return whether it had."""
        now = self._now()
        since = crawler.started or now
        if crawler.state == "READY" or not self._ownership.is_silent_orphan(crawler.run_id or "", crawler, since=since):
            return False
        started = crawler.started or now

        def fail(current: Crawler) -> Crawler:
            # It may have ended, or stored a heartbeat, since it was read.
            if (current.run_id, current.heartbeat) != (crawler.run_id, crawler.heartbeat):
                return current
            return _ended(current, LastCrawl(status="FAILED", message=_LOST, start_time=started, end_time=now))

        with suppress(CrawlerNotFound):
            if self._store.change(crawler.name, fail).state == "READY":
                _LOG.warning("crawler %s was running when its server ended: marked as failed", crawler.name)
        return True

    def _look(self) -> float:
        """Store heartbeats, end waiting crawls that other processes stopped, and store missed ends."""
        for crawler, last in list(self._unstored.values()):
            self.finish(crawler, last)
        for crawler in self._queue.crawls():
            try:
                self._beat(crawler)
            except CrawlerNotFound:
                continue
            except Exception:  # noqa: BLE001 - the store may be unavailable for a moment
                _LOG.exception("the heartbeat of crawler %s could not be recorded", crawler.name)
        return _HEARTBEAT_SECONDS

    def _beat(self, crawler: Crawler) -> None:
        def beat(current: Crawler) -> Crawler:
            return replace(current, heartbeat=self._now()) if current.run_id == crawler.run_id else current

        current = self._store.change(crawler.name, beat)
        if current.run_id == crawler.run_id and current.state == "STOPPING":
            self.withdraw(crawler)


def _ended(crawler: Crawler, last: LastCrawl) -> Crawler:
    record = CrawlRecord(run_id=crawler.run_id or "", last=last)
    return replace(
        crawler,
        state="READY",
        run_id=None,
        started=None,
        owner=None,
        heartbeat=None,
        last_crawl=last,
        history=(record, *crawler.history)[:_KEPT_RECORDS],
    )


def _add(totals: Tally, tally: Tally) -> Tally:
    return replace(
        totals,
        tables_created=totals.tables_created + tally.tables_created,
        tables_updated=totals.tables_updated + tally.tables_updated,
        tables_deleted=totals.tables_deleted + tally.tables_deleted,
    )
