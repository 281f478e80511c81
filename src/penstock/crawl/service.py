"""The service of crawlers: create, change, start, stop and delete them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from penstock.catalog.service import CatalogService
from penstock.crawl.access import AccessOf, Starter
from penstock.crawl.checks import check_settings
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.errors import (
    CrawlerNotFound,
    CrawlerNotRunning,
    CrawlerRunning,
    CrawlerStopping,
    NoSchedule,
    ScheduleNotRunning,
    ScheduleRunning,
)
from penstock.crawl.model import Crawler, DynamoTarget, JdbcTarget
from penstock.crawl.runner import CrawlRunner, CrawlServices
from penstock.crawl.schedules import MAX_CRAWLERS, CrawlSchedules, next_run
from penstock.crawl.store import Change, CrawlStore
from penstock.crawl.targets.port import SourceFinder
from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.names import DEFAULT_ACCOUNT
from penstock.paging import Page, page
from penstock.tags import changed_tags, check_tags

__all__ = ["CrawlService"]


class CrawlService:
    """Crawlers over a :class:`CrawlStore`, a catalog and the lake. Two crawl at once in one process, up to 98 others wait.

    As in Glue, a waiting crawl is RUNNING already. ``access`` decides what each crawl may do; without it all are refused.
    """

    def __init__(
        self,
        store: CrawlStore,
        catalog: CatalogService,
        lake: LakeFolder,
        *,
        access: AccessOf | None = None,
        account: str = DEFAULT_ACCOUNT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        classifiers: ClassifierService | None = None,
        sources: SourceFinder | None = None,
    ) -> None:
        self._services = CrawlServices(
            store=store,
            catalog=catalog,
            lake=lake,
            access=access,
            account=account,
            classifiers=classifiers,
            sources=sources,
        )
        self._store = store
        self._now = now
        self._runner = CrawlRunner(self._services, now=now)
        self._ownership = self._runner.ownership
        self.schedules = CrawlSchedules(store, self._start_scheduled, now=now)

    def create(self, crawler: Crawler) -> None:
        """Add a crawler. Raises :class:`AlreadyExists`, and :class:`InvalidInput` for targets that cannot be crawled."""
        self._check(crawler)
        check_tags(crawler.tags)
        now = self._now()
        self._store.create(replace(crawler, creation_time=now, last_updated=now, next_run=next_run(crawler.schedule, now)))

    def get(self, name: str) -> Crawler:
        """Return one crawler. Raises :class:`NotFound`."""
        crawler = self._store.get(name)
        if crawler is not None and self._ownership.fail_lost(crawler):
            crawler = self._store.get(name)
        if crawler is None:
            raise CrawlerNotFound(name)
        return crawler

    def page(self, *, limit: int, token: str | None = None) -> Page[Crawler]:
        """Return up to ``limit`` crawlers by name."""

        def read(after: str | None, count: int) -> Sequence[Crawler]:
            return self._list(after, count)

        return page("crawlers", token, limit, read, lambda crawler: crawler.name, kind=str)

    def all(self) -> Sequence[Crawler]:
        """Return all crawlers by name."""
        return self._list(None, MAX_CRAWLERS)

    def update(self, name: str, change: Change) -> None:
        """Replace a crawler's settings. Raises :class:`NotFound`, CrawlerRunning."""

        def checked(crawler: Crawler) -> Crawler:
            if crawler.state != "READY":
                raise CrawlerRunning(name)
            changed, now = change(crawler), self._now()
            if changed.schedule != crawler.schedule:
                changed = replace(changed, next_run=next_run(changed.schedule, now))
            return replace(changed, version=crawler.version + 1, last_updated=now)

        self._check(change(self.get(name)))
        self._store.change(name, checked)

    def set_schedule(self, name: str, schedule: str | None, *, starter: Starter | None = None) -> None:
        """Give a crawler another schedule, and start it; None or an empty text removes it. Raises what create raises."""

        def change(crawler: Crawler) -> Crawler:
            return replace(crawler, starter=starter, schedule=schedule or None, next_run=next_run(schedule, self._now()))

        self.get(name)
        self._store.change(name, change)

    def start_schedule(self, name: str, *, starter: Starter | None = None) -> None:
        """Start a stopped schedule. Raises :class:`NotFound`, NoSchedule, ScheduleRunning."""

        def change(crawler: Crawler) -> Crawler:
            if crawler.schedule is None:
                raise NoSchedule(name)
            if crawler.next_run is not None:
                raise ScheduleRunning(name)
            return replace(crawler, starter=starter, next_run=next_run(crawler.schedule, self._now()))

        self.get(name)
        self._store.change(name, change)

    def stop_schedule(self, name: str) -> None:
        """Stop a schedule; a crawl that runs goes on. Raises :class:`NotFound`, ScheduleNotRunning."""

        def change(crawler: Crawler) -> Crawler:
            if crawler.next_run is None:
                raise ScheduleNotRunning(name)
            return replace(crawler, next_run=None)

        self.get(name)
        self._store.change(name, change)

    def tags(self, name: str) -> Mapping[str, str]:
        """Return a crawler's tags. Raises :class:`NotFound`."""
        return self.get(name).tags

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some, also during a run. Raises :class:`NotFound`, :class:`LimitExceeded`."""
        check_tags(add or {})
        self.get(name)
        self._store.change(name, lambda crawler: replace(crawler, tags=changed_tags(crawler.tags, add or {}, remove)))

    def delete(self, name: str) -> None:
        """Remove a crawler, but not its tables. Raises :class:`NotFound`, CrawlerRunning."""
        self.get(name)
        self._store.delete(name)

    def start(self, name: str, *, starter: Starter | None = None, run_id: str | None = None) -> bool:
        """Start a crawl in the background; return False if that of this ``run_id`` was started before.

        The crawl has the rights of ``starter``, without one those of who last created, changed or scheduled the crawler, and
        fails where they do not suffice.

        Raises :class:`NotFound`, CrawlerRunning, TooManyCrawls.
        """
        self.get(name)
        return self._runner.start(name, run_id or str(uuid4()), starter)

    def stop(self, name: str) -> None:
        """Stop a crawl in any process. Raises :class:`NotFound`, CrawlerNotRunning, CrawlerStopping."""

        def request(crawler: Crawler) -> Crawler:
            if crawler.state == "READY":
                raise CrawlerNotRunning(name)
            if crawler.state == "STOPPING":
                raise CrawlerStopping(name)
            return replace(crawler, state="STOPPING")

        self.get(name)
        self._ownership.withdraw(self._store.change(name, request))

    def recover(self) -> None:
        """Mark running crawls of dead servers as FAILED; crawls of other servers go on."""
        running = self._store.running()
        self._ownership.forget_all_but(running)
        for crawler in running:
            self._ownership.fail_lost(crawler)

    def begin(self) -> None:
        """Start scheduled crawls from now on: those that are due at each :meth:`wake`."""
        self.schedules.begin()

    def wake(self) -> None:
        """Start the crawls that are due."""
        self.schedules.wake()

    def close(self, timeout: float = 10.0) -> None:
        """Stop the crawls of this process and wait for them, ``timeout`` seconds for all."""
        self.schedules.close(timeout)
        self._runner.close(timeout)

    def _start_scheduled(self, crawler: Crawler, run_id: str) -> bool:
        return self.start(crawler.name, starter=crawler.starter, run_id=run_id)

    def _list(self, after: str | None, count: int) -> Sequence[Crawler]:
        crawlers = self._store.list(after=after, limit=count)
        lost = [crawler for crawler in crawlers if self._ownership.fail_lost(crawler)]
        return self._store.list(after=after, limit=count) if lost else crawlers

    def _check(self, crawler: Crawler) -> None:
        """Raise :class:`InvalidInput`, ClassifierNotFound and the like for settings that cannot be used."""
        check_settings(crawler)
        self._services.recognizers(crawler)
        for target in crawler.others:
            if isinstance(target, JdbcTarget | DynamoTarget):
                if self._services.sources is None:
                    raise InvalidInput("This server reads no tables outside the lake.", remedy="Give targets in the lake.")
                self._services.sources.check(target)
