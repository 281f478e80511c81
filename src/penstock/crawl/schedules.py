"""Starts the crawls of crawlers with a schedule, on a thread of its own, which looks when it is woken."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from penstock.crawl.errors import CrawlerNotFound
from penstock.crawl.model import Crawler
from penstock.crawl.store import CrawlStore
from penstock.cron import parse_cron
from penstock.errors import PenstockError
from penstock.owners import Poller

__all__ = ["MAX_CRAWLERS", "CrawlSchedules", "next_run", "scheduled_crawl"]

MAX_CRAWLERS = 100_000
"""More than an account has: the bound of one listing of all of them."""
_LOG = logging.getLogger(__name__)
_TICK_SECONDS = 5.0
_LATE = timedelta(minutes=5)


class CrawlSchedules:
    """The schedules of an account's crawlers. ``start`` starts a crawl by its id; False if it was started before."""

    def __init__(self, store: CrawlStore, start: Callable[[Crawler, str], bool], *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._start = start
        self._now = now
        self._poller = Poller(
            self._look, name="penstock-crawl-schedules", what="reading the schedules of crawlers", pause=_TICK_SECONDS
        )

    def begin(self) -> None:
        """Look for crawls that are due, soon and with each :meth:`wake`."""
        self._poller.begin()

    def wake(self) -> None:
        """Look for crawls that are due now."""
        self._poller.wake()

    def close(self, timeout: float) -> None:
        """Start no more crawls; wait up to ``timeout`` seconds for one that is being started."""
        self._poller.close(timeout)

    def run_due(self) -> Sequence[str]:
        """Start the crawls that are due, and return their crawlers' names. Of several servers, one starts each.

        A run that is more than five minutes late, because no server ran, is left out, as is one of a running crawler.
        """
        started: list[str] = []
        for crawler in self._store.list(after=None, limit=MAX_CRAWLERS):
            now = self._now()
            due = crawler.next_run
            if due is None or due > now:
                continue
            if now - due > _LATE:
                if self._claim(crawler, now):
                    _LOG.warning("crawler %s: its run of %s was missed", crawler.name, due.isoformat())
                continue
            # Before the schedule moves on, by an id that is known: a server that is killed in between leaves nothing out.
            try:
                if self._start(crawler, scheduled_crawl(crawler.name, due)):
                    started.append(crawler.name)
            except PenstockError as error:
                _LOG.warning("crawler %s: its scheduled run is left out: %s", crawler.name, error.message)
            self._claim(crawler, now)
        return started

    def _claim(self, crawler: Crawler, now: datetime) -> bool:
        """Move the crawler's next run behind ``now``; return False if another server has done so."""
        claimed = False

        def change(current: Crawler) -> Crawler:
            nonlocal claimed
            claimed = current.next_run is not None and current.next_run == crawler.next_run
            return replace(current, next_run=next_run(current.schedule, now)) if claimed else current

        try:
            self._store.change(crawler.name, change)
        except CrawlerNotFound:
            return False
        return claimed

    def _look(self) -> None:
        self.run_due()


def scheduled_crawl(name: str, due: datetime) -> str:
    """Return the id of a crawler's run at a time of its schedule."""
    return str(uuid5(NAMESPACE_URL, f"{name}\0{due.isoformat()}"))


def next_run(schedule: str | None, now: datetime) -> datetime | None:
    """Return the first time of a cron expression after ``now``; None without a schedule."""
    return parse_cron(schedule).next_after(now) if schedule else None
