"""Runs crawls in the background of this process: two at once, up to 98 others wait."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from penstock.catalog.service import CatalogService
from penstock.crawl.access import AccessOf, CrawlAccess, Starter
from penstock.crawl.classifiers.model import Recognizer
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.errors import ClassifierNotFound
from penstock.crawl.model import Crawler, CrawlStatus, JdbcTarget, LastCrawl, Tally
from penstock.crawl.ownership import STOPPED, CrawlOwnership
from penstock.crawl.queue import CrawlQueue
from penstock.crawl.run import CrawlContext, crawl
from penstock.crawl.store import CrawlStore
from penstock.crawl.targets.port import SourceFinder
from penstock.errors import AccessDenied, PenstockError
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import PermittedFiles
from penstock.names import DEFAULT_ACCOUNT

__all__ = ["CrawlRunner", "CrawlServices"]

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_AT_ONCE = 2
_MAX_CRAWLS = 100
_SHUT_DOWN = "The server was shut down."
_MAX_MESSAGE = 2_048


class _Cancelled(Exception):
    """Ends a crawl from within; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlServices:
    """What the crawls of an account read and write.

    ``access`` decides what each crawl may do; without it every crawl is refused. ``sources`` finds tables outside the lake,
    None if the server reads none.
    """

    store: CrawlStore
    catalog: CatalogService
    lake: LakeFolder
    access: AccessOf | None = None
    account: str = DEFAULT_ACCOUNT
    classifiers: ClassifierService | None = None
    sources: SourceFinder | None = None

    def recognizers(self, crawler: Crawler) -> tuple[Sequence[Recognizer], str]:
        """Return the custom classifiers of a crawler, and their digest. Raises :class:`ClassifierNotFound`."""
        if not crawler.classifiers:
            return (), ""
        if self.classifiers is None:
            raise ClassifierNotFound(crawler.classifiers[0])
        return self.classifiers.recognizers(crawler.classifiers)


class CrawlRunner:
    """The crawls that this process has started."""

    def __init__(self, services: CrawlServices, *, now: Callable[[], datetime]) -> None:
        self._services = services
        self._now = now
        self._closing = threading.Event()
        self._queue = CrawlQueue(self._crawl, workers=_AT_ONCE, bound=_MAX_CRAWLS)
        self.ownership = CrawlOwnership(services.store, self._queue, now=now)

    def start(self, name: str, run_id: str, starter: Starter | None) -> bool:
        """Queue a crawl of the crawler; return False if the one of this ``run_id`` was started before.

        Raises :class:`CrawlerNotFound`, :class:`CrawlerRunning`, :class:`TooManyCrawls`.
        """
        self._queue.reserve()
        try:
            crawler = self.ownership.claim(name, run_id)
        except BaseException:
            self._queue.release()
            raise
        if crawler is None:
            self._queue.release()
            return False
        # A trigger's crawl has no caller, and so the rights that one by the schedule has.
        self._queue.put(replace(crawler, starter=starter or crawler.starter))
        self.ownership.begin()
        return True

    def close(self, timeout: float) -> None:
        """Stop the crawls of this process and wait for them, ``timeout`` seconds for all."""
        self._closing.set()
        for crawler in self._queue.close(timeout):
            self.ownership.cancel(crawler, _SHUT_DOWN)
        self.ownership.close(timeout)

    def _crawl(self, crawler: Crawler) -> None:
        started = crawler.started or self._now()
        status: CrawlStatus = "FAILED"
        tally, message = Tally(), ""
        try:
            tally = self._crawled(crawler, started)
            status, message = "SUCCEEDED", tally.summary() if tally.problem_count else ""
        except _Cancelled as reason:
            status, message = "CANCELLED", str(reason)
        except PenstockError as error:
            message = str(error)
        except Exception:  # noqa: BLE001 - the crawl must end as failed after any error
            _LOG.exception("crawler %s failed", crawler.name)
            message = "An internal error; the server's log has the details."
        text = message[:_MAX_MESSAGE] or None
        last = LastCrawl(status=status, message=text, start_time=started, end_time=self._now(), tally=tally)
        self.ownership.finish(crawler, last)

    def _crawled(self, crawler: Crawler, started: datetime) -> Tally:
        """Crawl, and return the counts. Raises :class:`AccessDenied` before anything is read if it may not start."""
        services = self._services
        check = self._checker(crawler)
        check()
        access = self._access(crawler)
        custom, digest = services.recognizers(crawler)
        context = CrawlContext(
            store=services.store,
            catalog=services.catalog,
            lake=PermittedFiles(services.lake, access, None),
            now=started,
            check=check,
            access=access,
            custom=custom,
            reread=digest != crawler.classified,
            sources=services.sources,
        )
        tally = crawl(crawler, context)
        if digest != crawler.classified:
            services.store.change(crawler.name, lambda current: replace(current, classified=digest))
        return tally

    def _access(self, crawler: Crawler) -> CrawlAccess:
        """Return what the crawl may do. Raises :class:`AccessDenied` if it may not start."""
        services = self._services
        if services.access is None:
            raise AccessDenied("The crawl is refused: nothing decides what it may do.", remedy="Start it on a server.")
        # Crawlers of an earlier release have no starter: no caller's policies are asked, and the changes are recorded.
        starter = crawler.starter or Starter(caller=None, action="StartCrawler")
        access = services.access(services.account, starter, crawler.name, crawler.role, crawler.run_id or "")
        access.check_start()
        for target in crawler.others:
            if isinstance(target, JdbcTarget):
                access.check("GetConnection", {"Name": target.connection})
        return access

    def _checker(self, crawler: Crawler) -> Callable[[], None]:
        """Return a function that is called often, and raises to end the crawl if it is stopped."""
        last = time.monotonic() - _POLL_SECONDS

        def check() -> None:
            nonlocal last
            if self._closing.is_set():
                raise _Cancelled(_SHUT_DOWN)
            if time.monotonic() - last < _POLL_SECONDS:
                return
            last = time.monotonic()
            current = self._services.store.get(crawler.name)
            if current is None or current.run_id != crawler.run_id or current.state != "RUNNING":
                raise _Cancelled(STOPPED)

        return check
