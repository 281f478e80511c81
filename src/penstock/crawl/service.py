"""The service of crawlers: create, start, stop; each runs in the background of the server that started it."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import NAMESPACE_URL, uuid4, uuid5

from penstock.catalog.service import CatalogService
from penstock.crawl.access import LateAccess, Starter
from penstock.crawl.apply import ChangeListener, OperationCheck
from penstock.crawl.classifiers.model import Recognizer
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.configuration import Configuration
from penstock.crawl.errors import (
    ClassifierNotFound,
    CrawlerNotFound,
    CrawlerNotRunning,
    CrawlerRunning,
    CrawlerStopping,
    NoSchedule,
    ScheduleNotRunning,
    ScheduleRunning,
)
from penstock.crawl.globs import exclusion
from penstock.crawl.model import CatalogTarget, Crawler, CrawlRecord, DynamoTarget, JdbcTarget, LastCrawl, OtherTarget, Tally
from penstock.crawl.queue import CrawlQueue
from penstock.crawl.run import Surroundings, crawl
from penstock.crawl.store import Change, CrawlStore
from penstock.crawl.targets.lake_tables import folder_uri
from penstock.crawl.targets.port import SourceFinder
from penstock.cron import parse_cron
from penstock.errors import InvalidInput, PenstockError
from penstock.lake.locations import LakeFolder, LakePaths, parse_uri
from penstock.lake.permitted import PermittedFiles
from penstock.names import DEFAULT_ACCOUNT
from penstock.owners import forget_owner, is_lost, new_owner
from penstock.paging import Page, page
from penstock.tags import changed_tags, check_tags

__all__ = ["CrawlService", "scheduled_crawl"]

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_HEARTBEAT_SECONDS = 5.0
_DEAD_AFTER = timedelta(seconds=20)
_LOST = "The server ended while this crawl was running. Start it again."
_AT_ONCE = 2
_MAX_CRAWLS = 100
_STOPPED = "Stopped on request."
_SHUT_DOWN = "The server was shut down."
_KEPT_RUNTIMES = 20
_KEPT_RECORDS = 50
_TICK_SECONDS = 5.0
_LATE = timedelta(minutes=5)
_MAX_MESSAGE = 2_048
_ALL = 100_000
_MAX_SAMPLE = 249  # Glue's bound, as its API reference has it


class _Cancelled(Exception):
    """Ends a crawl from within; the text is the reason."""


class CrawlService:
    """Crawlers over a :class:`CrawlStore`, a catalog and the lake. Two crawl at once in one process, up to 98 others wait.

    As in Glue, a waiting crawl is RUNNING already. A crawl belongs to the process that started it, which stores a heartbeat
    every five seconds. If that process is gone (no such process id on this host, no heartbeat for 20 seconds on others),
    the next read of the crawler marks the crawl as failed.

    ``access`` says what crawls may do; None is for a catalog that one program has for itself: nobody is asked.
    """

    def __init__(
        self,
        store: CrawlStore,
        catalog: CatalogService,
        lake: LakeFolder,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        classifiers: ClassifierService | None = None,
        sources: SourceFinder | None = None,
        account: str = DEFAULT_ACCOUNT,
        access: LateAccess | None,
    ) -> None:
        self._account = account
        self._access = access
        self._starters: dict[str, Starter] = {}
        self._sources = sources
        self._classifiers = classifiers
        self._store = store
        self._catalog = catalog
        self._lake = lake
        self._now = now
        self._owner = new_owner()
        self._closing = threading.Event()
        self._operation_checks: dict[str, OperationCheck] = {}
        self._queue = CrawlQueue(self._crawl, workers=_AT_ONCE, bound=_MAX_CRAWLS)
        # Ended crawls that could not be stored, by run: the store was full or unavailable.
        self._untold: dict[str, tuple[Crawler, LastCrawl]] = {}
        self._keeping = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._scheduler: threading.Thread | None = None

    def create(self, crawler: Crawler) -> None:
        """Add a crawler. Raises :class:`AlreadyExists`, and :class:`InvalidInput` for targets that cannot be crawled."""
        self._checked(crawler)
        check_tags(crawler.tags)
        now = self._now()
        self._store.create(replace(crawler, creation_time=now, last_updated=now, next_run=_next_run(crawler.schedule, now)))

    def get(self, name: str) -> Crawler:
        """Return one crawler. Raises :class:`NotFound`."""
        found = self._store.get(name)
        if found is not None and self._fail_orphaned(found):
            found = self._store.get(name)
        if found is None:
            raise CrawlerNotFound(name)
        return found

    def page(self, *, limit: int, token: str | None = None) -> Page[Crawler]:
        """Return up to ``limit`` crawlers by name."""

        def read(after: str | None, count: int) -> Sequence[Crawler]:
            return self._list(after, count)

        return page("crawlers", token, limit, read, lambda each: each.name, kind=str)

    def all(self) -> Sequence[Crawler]:
        """Return all crawlers by name."""
        return self._list(None, _ALL)

    def update(self, name: str, change: Change) -> None:
        """Replace a crawler's settings. Raises :class:`NotFound`, CrawlerRunning."""

        def checked(crawler: Crawler) -> Crawler:
            if crawler.state != "READY":
                raise CrawlerRunning(name)
            changed, now = change(crawler), self._now()
            if changed.schedule != crawler.schedule:
                changed = replace(changed, next_run=_next_run(changed.schedule, now))
            return replace(changed, version=crawler.version + 1, last_updated=now)

        self._checked(change(self.get(name)))
        self._store.change(name, checked)

    def set_schedule(self, name: str, schedule: str | None, *, starter: Starter | None = None) -> None:
        """Give a crawler another schedule, and start it; None or an empty text removes it. Raises what create raises."""

        def change(crawler: Crawler) -> Crawler:
            return replace(crawler, starter=starter, schedule=schedule or None, next_run=_next_run(schedule, self._now()))

        self.get(name)
        self._store.change(name, change)

    def start_schedule(self, name: str, *, starter: Starter | None = None) -> None:
        """Start a stopped schedule. Raises :class:`NotFound`, NoSchedule, ScheduleRunning."""

        def change(crawler: Crawler) -> Crawler:
            if crawler.schedule is None:
                raise NoSchedule(name)
            if crawler.next_run is not None:
                raise ScheduleRunning(name)
            return replace(crawler, starter=starter, next_run=_next_run(crawler.schedule, self._now()))

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

    def run_due(self) -> Sequence[str]:
        """Start the crawls that are due, and return their crawlers' names. Of several servers, one starts each.

        A run that is more than five minutes late, because no server ran, is left out, as is one of a running crawler.
        """
        started: list[str] = []
        for crawler in self._store.list(after=None, limit=_ALL):
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
                if self.start(crawler.name, starter=crawler.starter, run_id=scheduled_crawl(crawler.name, due)):
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
            return replace(current, next_run=_next_run(current.schedule, now)) if claimed else current

        try:
            self._store.change(crawler.name, change)
        except CrawlerNotFound:
            return False
        return claimed

    def _schedules(self) -> None:
        while not self._closing.wait(_TICK_SECONDS):
            try:
                self.run_due()
            except Exception:  # noqa: BLE001 - the store may be unavailable for a moment
                _LOG.exception("the schedules of crawlers could not be read")

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

    def start(
        self,
        name: str,
        *,
        check_operation: OperationCheck | None = None,
        starter: Starter | None = None,
        run_id: str | None = None,
    ) -> bool:
        """Start a crawl in the background; return False if that of this ``run_id`` was started before.

        Raises :class:`NotFound`, CrawlerRunning, TooManyCrawls.

        ``check_operation`` is called before each change of the catalog, with Glue's name of the operation and its
        request; the crawl fails with the error that it raises. So it does for what ``starter`` is denied.
        """
        run_id = run_id or str(uuid4())
        new = True

        def begin(crawler: Crawler) -> Crawler:
            nonlocal new
            new = not _knows(crawler, run_id)
            if not new:
                return crawler
            if crawler.state != "READY":
                raise CrawlerRunning(name)
            now = self._now()
            return replace(crawler, state="RUNNING", run_id=run_id, started=now, owner=self._owner, heartbeat=now)

        self.get(name)
        self._queue.reserve()
        try:
            crawler = self._store.change(name, begin)
        except BaseException:
            self._queue.release()
            raise
        if not new:
            self._queue.release()
            return False
        if check_operation is not None:
            self._operation_checks[run_id] = check_operation
        if starter is not None:
            self._starters[run_id] = starter
        self._queue.put(crawler)
        with self._keeping:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="penstock-crawls-live", daemon=True)
                self._keeper.start()
        return True

    def stop(self, name: str) -> None:
        """Stop a crawl in any process. Raises :class:`NotFound`, CrawlerNotRunning, CrawlerStopping."""

        def request(crawler: Crawler) -> Crawler:
            if crawler.state == "READY":
                raise CrawlerNotRunning(name)
            if crawler.state == "STOPPING":
                raise CrawlerStopping(name)
            return replace(crawler, state="STOPPING")

        self.get(name)
        self._withdraw(self._store.change(name, request))

    def recover(self) -> None:
        """Mark running crawls of dead servers as FAILED, and run schedules from now on; crawls of other servers go on."""
        for crawler in self._store.running():
            self._fail_orphaned(crawler)
        with self._keeping:
            if self._scheduler is None:
                self._scheduler = threading.Thread(target=self._schedules, name="penstock-crawl-schedules", daemon=True)
                self._scheduler.start()

    def close(self, timeout: float = 10.0) -> None:
        """Stop the crawls of this process and wait for them, ``timeout`` seconds for all."""
        self._closing.set()
        for crawler in self._queue.close(timeout):
            self._cancel(crawler, _SHUT_DOWN)
        for thread in (self._keeper, self._scheduler):
            if thread is not None:
                thread.join(timeout)
        forget_owner(self._owner)

    def _list(self, after: str | None, count: int) -> Sequence[Crawler]:
        found = self._store.list(after=after, limit=count)
        lost = [each for each in found if self._fail_orphaned(each)]
        return self._store.list(after=after, limit=count) if lost else found

    def _fail_orphaned(self, crawler: Crawler) -> bool:
        """Fail a crawl if its process has died; return whether it had."""
        if crawler.state == "READY" or crawler.owner == self._owner:
            return False
        now = self._now()
        if not is_lost(crawler.owner or "", crawler.heartbeat or crawler.started or now, now=now, dead_after=_DEAD_AFTER):
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

    def _keep(self) -> None:
        """Until closed: store heartbeats, end waiting crawls that other processes stopped, and store missed ends."""
        while not self._closing.wait(_HEARTBEAT_SECONDS):
            for crawler, last in list(self._untold.values()):
                self._finish(crawler, last)
            for crawler in self._queue.crawls():
                try:
                    self._beat(crawler)
                except CrawlerNotFound:
                    continue
                except Exception:  # noqa: BLE001 - the store may be unavailable for a moment
                    _LOG.exception("the heartbeat of crawler %s could not be recorded", crawler.name)

    def _beat(self, crawler: Crawler) -> None:
        def beat(current: Crawler) -> Crawler:
            return replace(current, heartbeat=self._now()) if current.run_id == crawler.run_id else current

        current = self._store.change(crawler.name, beat)
        if current.run_id == crawler.run_id and current.state == "STOPPING":
            self._withdraw(crawler)

    def _withdraw(self, crawler: Crawler) -> None:
        """End a stopping crawl if it waits here; a running one checks for itself."""
        if crawler.run_id is not None and self._queue.withdraw(crawler.run_id):
            self._cancel(crawler, _STOPPED)

    def _cancel(self, crawler: Crawler, why: str) -> None:
        """End a crawl that did not begin."""
        self._finish(crawler, _last("CANCELLED", why, crawler.started or self._now(), self._now(), Tally()))

    def _crawl(self, crawler: Crawler) -> None:
        started = crawler.started or self._now()
        tally, status, message = Tally(), "FAILED", ""
        try:
            check = self._checker(crawler)
            check()
            check_operation, told, lake = self._checks(crawler)
            custom, digest = self._recognizers(crawler)
            around = Surroundings(
                store=self._store,
                catalog=self._catalog,
                lake=lake,
                now=started,
                check=check,
                check_operation=check_operation,
                told=told,
                custom=custom,
                anew=digest != crawler.classified,
                sources=self._sources,
            )
            tally = crawl(crawler, around)
            if digest != crawler.classified:
                self._store.change(crawler.name, lambda current: replace(current, classified=digest))
            status, message = "SUCCEEDED", tally.summary() if tally.problem_count else ""
        except _Cancelled as reason:
            status, message = "CANCELLED", str(reason)
        except PenstockError as error:
            message = str(error)
        except Exception:  # noqa: BLE001 - the crawl must end as failed after any error
            _LOG.exception("crawler %s failed", crawler.name)
            message = "An internal error; the server's log has the details."
        self._finish(crawler, _last(status, message, started, self._now(), tally))

    def _checks(self, crawler: Crawler) -> tuple[OperationCheck | None, ChangeListener | None, LakePaths]:
        """Return what checks the crawl's changes, what records them, and the lake as the crawl may open it.

        Raises AccessDenied if it may not start.
        """
        run_id = crawler.run_id or ""
        given = self._operation_checks.get(run_id)
        if self._access is None:
            return given, None, self._lake
        # Crawlers of an earlier release have no starter: nobody is asked, and the changes are recorded.
        starter = self._starters.get(run_id) or Starter(caller=None, action="StartCrawler")
        access = self._access.of(self._account, starter, crawler.name, crawler.role, run_id)
        access.check_start()
        for target in crawler.others:
            if isinstance(target, JdbcTarget):
                access.check("GetConnection", {"Name": target.connection})

        def changed(operation: str, database: str, table: str) -> None:
            access.changed(operation, {"DatabaseName": database, "Name": table})

        return given or access.check, changed, PermittedFiles(self._lake, access, None)

    def _checked(self, crawler: Crawler) -> None:
        """Raise :class:`InvalidInput`, ClassifierNotFound and the like for settings that cannot be used."""
        _check_settings(crawler)
        self._recognizers(crawler)
        for target in crawler.others:
            if isinstance(target, JdbcTarget | DynamoTarget):
                if self._sources is None:
                    raise InvalidInput("This server reads no tables outside the lake.", remedy="Give targets in the lake.")
                self._sources.check(target)

    def _recognizers(self, crawler: Crawler) -> tuple[Sequence[Recognizer], str]:
        if not crawler.classifiers:
            return (), ""
        if self._classifiers is None:
            raise ClassifierNotFound(crawler.classifiers[0])
        return self._classifiers.recognizers(crawler.classifiers)

    def _checker(self, crawler: Crawler) -> Callable[[], None]:
        last = time.monotonic() - _POLL_SECONDS

        def check() -> None:
            nonlocal last
            if self._closing.is_set():
                raise _Cancelled(_SHUT_DOWN)
            if time.monotonic() - last < _POLL_SECONDS:
                return
            last = time.monotonic()
            current = self._store.get(crawler.name)
            if current is None or current.run_id != crawler.run_id or current.state != "RUNNING":
                raise _Cancelled(_STOPPED)

        return check

    def _finish(self, crawler: Crawler, last: LastCrawl) -> None:
        self._operation_checks.pop(crawler.run_id or "", None)
        self._starters.pop(crawler.run_id or "", None)

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
            if crawler.run_id not in self._untold:
                _LOG.exception("the end of crawler %s (%s) could not be recorded yet", crawler.name, last.status)
            self._untold[crawler.run_id] = (crawler, last)
            return
        self._untold.pop(crawler.run_id, None)
        _LOG.info("crawler %s: %s. %s", crawler.name, last.status, last.message or last.tally.summary())


def scheduled_crawl(name: str, due: datetime) -> str:
    """Return the id of a crawler's run at a time of its schedule."""
    return str(uuid5(NAMESPACE_URL, f"{name}\0{due.isoformat()}"))


def _knows(crawler: Crawler, run_id: str) -> bool:
    """Whether the crawl runs, or is among the latest ones."""
    return crawler.run_id == run_id or any(each.run_id == run_id for each in crawler.history)


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


def _next_run(schedule: str | None, now: datetime) -> datetime | None:
    return parse_cron(schedule).next_after(now) if schedule else None


def _last(status: str, message: str, start: datetime, end: datetime, tally: Tally) -> LastCrawl:
    known: dict[str, Literal["SUCCEEDED", "CANCELLED", "FAILED"]] = {"SUCCEEDED": "SUCCEEDED", "CANCELLED": "CANCELLED"}
    return LastCrawl(
        status=known.get(status, "FAILED"),
        message=message[:_MAX_MESSAGE] or None,
        start_time=start,
        end_time=end,
        tally=tally,
    )


def _add(totals: Tally, tally: Tally) -> Tally:
    return replace(
        totals,
        tables_created=totals.tables_created + tally.tables_created,
        tables_updated=totals.tables_updated + tally.tables_updated,
        tables_deleted=totals.tables_deleted + tally.tables_deleted,
    )


def _check_settings(crawler: Crawler) -> None:
    Configuration.parse(crawler.configuration)
    if crawler.schedule:
        parse_cron(crawler.schedule)
    if crawler.recrawl not in {"CRAWL_EVERYTHING", "CRAWL_NEW_FOLDERS_ONLY"}:
        raise InvalidInput(
            f"RecrawlBehavior {crawler.recrawl} is not served: there are no S3 events.",
            remedy="CRAWL_EVERYTHING reads only files that are new or changed; CRAWL_NEW_FOLDERS_ONLY reads new folders.",
        )
    if crawler.recrawl != "CRAWL_EVERYTHING" and (crawler.policy.update, crawler.policy.delete) != ("LOG", "LOG"):
        raise InvalidInput(
            f"Crawler {crawler.name} crawls new folders only, and its SchemaChangePolicy changes what is in the others.",
            remedy="Set UpdateBehavior and DeleteBehavior to LOG.",
        )
    if not crawler.targets and not crawler.others:
        raise InvalidInput(f"Crawler {crawler.name} has no target.", remedy="Give at least one path in Targets.S3Targets.")
    _check_others(crawler)
    for target in crawler.targets:
        parse_uri(target.path)
        exclusion(target.exclusions)
        if target.sample_size is not None and not 1 <= target.sample_size <= _MAX_SAMPLE:
            raise InvalidInput(f"SampleSize {target.sample_size} is not from 1 to {_MAX_SAMPLE}.")


def _check_others(crawler: Crawler) -> None:
    """Check what can be told of targets without reading them."""
    catalog = [target for target in crawler.others if isinstance(target, CatalogTarget)]
    if catalog and (crawler.targets or len(catalog) < len(crawler.others)):
        raise InvalidInput("CatalogTargets cannot be crawled together with other targets.", remedy="Create two crawlers.")
    if catalog and crawler.policy.delete != "LOG":
        raise InvalidInput("CatalogTargets need the DeleteBehavior LOG.", remedy="Set it in SchemaChangePolicy.")
    if crawler.others and crawler.recrawl != "CRAWL_EVERYTHING":
        raise InvalidInput(f"RecrawlBehavior {crawler.recrawl} is for S3 targets alone.", remedy="Use CRAWL_EVERYTHING.")
    for target in crawler.others:
        _check_other(target)


def _check_other(target: OtherTarget) -> None:
    match target:
        case CatalogTarget():
            if not target.tables:
                raise InvalidInput("A catalog target has no Tables.", remedy="Name the tables to crawl.")
        case JdbcTarget():
            exclusion(target.exclusions)
        case DynamoTarget():
            if not target.table:
                raise InvalidInput("A DynamoDB target has no Path.", remedy="Give the table's name.")
        case _:
            if not target.paths:
                raise InvalidInput(f"A target of {target.kind} has no path.", remedy="Give s3://BUCKET/FOLDER/.")
            for path in target.paths:
                folder_uri(path)
