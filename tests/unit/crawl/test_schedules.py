"""Cron expressions of crawlers, and the runs that they lead to."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.crawl.errors import NoSchedule, ScheduleNotRunning, ScheduleRunning
from penstock.crawl.model import LastCrawl, SchemaChangePolicy
from penstock.crawl.schedules import scheduled_crawl
from penstock.crawl.service import CrawlService
from penstock.cron import parse_cron
from penstock.errors import InvalidInput
from tests.unit.crawl.crawl_world import Unchecked, World, wait

START = datetime(2026, 11, 22, 10, 7, 30, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("cron(15 12 * * ? *)", ["2026-11-22 12:15", "2026-11-23 12:15"]),
        ("cron(0/15 * * * ? *)", ["2026-11-22 10:15", "2026-11-22 10:30"]),
        ("cron(0 8-10/2,18 ? * MON-FRI *)", ["2026-11-23 08:00", "2026-11-23 10:00", "2026-11-23 18:00"]),
        ("cron(0 10 ? * 6L *)", ["2026-11-27 10:00", "2026-12-25 10:00"]),
        ("cron(0 10 ? * MON#1 *)", ["2026-12-07 10:00", "2027-01-04 10:00"]),
        ("cron(0 10 L * ? *)", ["2026-11-30 10:00", "2026-12-31 10:00"]),
        ("cron(0 10 15W * ? *)", ["2026-12-15 10:00", "2027-01-15 10:00"]),
        ("cron(0 10 1W 8 ? *)", ["2027-08-02 10:00"]),  # the first is a Sunday
        ("cron(0 10 31W JAN ? *)", ["2027-01-29 10:00"]),  # the last is a Sunday
        ("cron(0 0 29 FEB ? *)", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("cron(30 6 1 1 ? 2030-2031)", ["2030-01-01 06:30", "2031-01-01 06:30"]),
        ("cron(0 0 ? * sun *)", ["2026-11-29 00:00"]),
    ],
)
def test_the_next_runs_are_those_of_the_calendar(text: str, runs: list[str]) -> None:
    cron, moment = parse_cron(text), START
    for expected in runs:
        result = cron.next_after(moment)
        assert result is not None
        assert f"{result:%Y-%m-%d %H:%M}" == expected
        moment = result


def test_an_expression_may_have_no_more_runs() -> None:
    assert parse_cron("cron(0 0 1 1 ? 2020)").next_after(START) is None
    assert parse_cron("cron(0 0 31 2 ? *)").next_after(START) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rate(5 minutes)", "six fields"),
        ("cron(0 12 * * * *)", r"needs a \?"),
        ("cron(0 12 ? * ? *)", r"needs a \?"),
        ("cron(60 12 * * ? *)", "'60' .* minutes"),
        ("cron(0 24 * * ? *)", "'24' .* hours"),
        ("cron(0 12 0 * ? *)", "'0' .* day of month"),
        ("cron(0 12 ? * 8 *)", "'8' .* day of week"),
        ("cron(0 12 ? FOO MON *)", "'FOO' .* month"),
        ("cron(0/0 12 * * ? *)", "'0/0' .* minutes"),
        ("cron(0,3 12 * * ? *)", "more often"),
        ("cron(0,57 * * * ? *)", "more often"),
        ("cron(5-1 12 * * ? *)", "'5-1' .* minutes"),
        ("cron(0 12 99W * ? *)", "'99W' .* day of month"),
    ],
)
def test_expressions_that_cannot_be_read_are_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_cron(text)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(world: World) -> Clock:
    made = Clock()
    world.crawls.close()
    world.crawls = CrawlService(world.store, world.catalog, world.lake, now=made, access=Unchecked)
    return made


def ended(world: World) -> LastCrawl | None:
    wait(lambda: world.crawls.get("c").state == "READY")
    return world.crawls.get("c").last_crawl


def test_a_crawl_starts_when_it_is_due_and_on_one_server(world: World, clock: Clock) -> None:
    world.write("flights/a.parquet")
    world.crawler(schedule="cron(15 12 * * ? *)")
    other = CrawlService(world.store, world.catalog, world.lake, now=clock, access=Unchecked)
    assert world.crawls.schedules.run_due() == []
    clock.now = datetime(2026, 11, 22, 12, 15, 3, tzinfo=UTC)
    assert (world.crawls.schedules.run_due(), other.schedules.run_due()) == (["c"], [])
    last = ended(world)
    assert last is not None
    assert last.status == "SUCCEEDED"
    assert world.crawls.get("c").next_run == datetime(2026, 11, 23, 12, 15, tzinfo=UTC)
    assert world.crawls.schedules.run_due() == []
    other.close()


def test_a_run_that_no_server_was_there_for_is_left_out(world: World, clock: Clock) -> None:
    world.crawler(schedule="cron(15 12 * * ? *)")
    clock.now += timedelta(days=3)
    assert world.crawls.schedules.run_due() == []
    assert world.crawls.get("c").next_run == datetime(2026, 11, 25, 12, 15, tzinfo=UTC)


def test_schedules_are_started_stopped_changed_and_removed(world: World, clock: Clock) -> None:
    world.crawler()
    for call, error in ((world.crawls.start_schedule, NoSchedule), (world.crawls.stop_schedule, ScheduleNotRunning)):
        with pytest.raises(error):
            call("c")
    world.crawls.set_schedule("c", "cron(0 12 * * ? *)")
    with pytest.raises(ScheduleRunning):
        world.crawls.start_schedule("c")
    world.crawls.stop_schedule("c")
    clock.now += timedelta(days=1)
    assert world.crawls.schedules.run_due() == []
    world.crawls.start_schedule("c")
    assert world.crawls.get("c").next_run == datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
    world.crawls.set_schedule("c", "")
    assert (world.crawls.get("c").schedule, world.crawls.get("c").next_run) == (None, None)


def test_the_history_has_the_latest_crawls_and_what_they_changed(world: World) -> None:
    world.write("flights/year=2013/a.parquet")
    world.crawler()
    world.crawl()
    world.crawl()
    latest, first = world.crawls.get("c").history
    assert latest.run_id != first.run_id
    assert first.last.tally.changes == (("ADD", "flights"),)
    assert (latest.last.status, latest.last.tally.changes, latest.last.tally.partitions_added) == ("SUCCEEDED", (), 0)


def test_new_folders_only_leaves_the_others_as_they_are(world: World) -> None:
    world.write("flights/year=2013/a.parquet")
    world.crawler(recrawl="CRAWL_NEW_FOLDERS_ONLY", policy=SchemaChangePolicy(update="LOG", delete="LOG"))
    world.crawl()
    assert world.values() == [("2013",)]
    world.write("flights/year=2013/b.parquet")
    world.write("flights/year=2014/a.parquet")
    last = world.crawl()
    assert (last.tally.files_read, last.tally.partitions_added) == (1, 1)
    assert world.values() == [("2013",), ("2014",)]


def test_a_server_that_is_killed_leaves_no_crawl_of_a_schedule_out(world: World, clock: Clock) -> None:
    world.write("flights/a.parquet")
    world.crawler(schedule="cron(15 12 * * ? *)")
    clock.now = due = datetime(2026, 11, 22, 12, 15, tzinfo=UTC)
    # It had started the crawl, and not yet moved the schedule.
    world.crawls.start("c", run_id=scheduled_crawl("c", due))
    other = CrawlService(world.store, world.catalog, world.lake, now=clock, access=Unchecked)
    assert other.schedules.run_due() == []
    assert ended(world) is not None
    assert [crawl_record.run_id for crawl_record in world.crawls.get("c").history] == [scheduled_crawl("c", due)]
    assert world.crawls.get("c").next_run == due + timedelta(days=1)
    assert not other.start("c", run_id=scheduled_crawl("c", due))
    other.close()
