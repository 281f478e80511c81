"""Crawls have the rights of who started or scheduled them, and what they change is in the audit log."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.access.audit.event import AuditEvent
from penstock.access.entities import User
from penstock.access.principals import Caller, root_arn, user_arn
from penstock.api.access_checker import AccessChecker
from penstock.api.aws.authorization.policy_authorizer import PolicyAuthorizer
from penstock.catalog.service import CatalogService
from penstock.crawl.access import Starter
from penstock.crawl.model import JdbcTarget, LastCrawl
from penstock.crawl.service import CrawlService
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.test_policy_authorizer import A, allow
from tests.unit.api.aws.test_policy_authorizer import World as Policies
from tests.unit.crawl.crawl_world import World, wait

BEN = Caller(account=A, principal=user_arn(A, "/", "ben"), user_id="AIDABEN")
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class KeptEvents:
    """An audit log that is a list."""

    records_reads = False

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def check(self) -> None:
        """There is always room."""

    def write(self, event: AuditEvent) -> None:
        self.events.append(event)


class Scheduled(World):
    """Crawlers whose clock is set, with policies and an audit log."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, CatalogService(SqlCatalogStore(new_database())), SqlCrawlStore(new_database()))
        self.crawls.close()
        log = KeptEvents()
        self.events = log.events
        self.policies = Policies()
        checker = AccessChecker(self.policies.policies, region="us-east-1")
        authorizer = PolicyAuthorizer(
            checker, self.policies.tenants, self.policies.store, region="us-east-1", first=A, audit=log
        )
        self.now = NOON - timedelta(minutes=1)
        self.crawls = CrawlService(
            self.store, self.catalog, self.lake, now=lambda: self.now, account=A, access=authorizer.crawl_access
        )

    def next_run(self) -> LastCrawl:
        self.now = (self.crawls.get("c").next_run or NOON) + timedelta(seconds=1)
        assert self.crawls.schedules.run_due() == ["c"]
        wait(lambda: self.crawls.get("c").state == "READY")
        last = self.crawls.get("c").last_crawl
        assert last is not None
        return last

    def grant(self, *actions: str, denied: str | None = None) -> None:
        user = User(
            account=A,
            name="ben",
            id="AIDABEN",
            created=NOON,
            inline={str(number): allow(action) for number, action in enumerate(actions)},
        )
        if denied is not None:
            user = replace(user, inline={**user.inline, "d": allow(denied).replace("Allow", "Deny")})
        self.policies.store.add_entity(user, "CreateUser", limit=10)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Scheduled]:
    root = tmp_path / "buckets"
    root.mkdir()
    made = Scheduled(root)
    made.write("flights/year=2013/a.parquet", id=[1])
    yield made
    made.crawls.close()


def test_each_change_of_a_crawl_is_an_event_of_its_starter(world: Scheduled) -> None:
    world.grant("glue:CreateCrawler", "s3:*")
    world.crawler(schedule="cron(0 12 * * ? *)", starter=Starter(caller=BEN, action="CreateCrawler", client="192.0.2.1"))
    last = world.next_run()
    assert (last.status, last.message) == ("SUCCEEDED", None)
    assert [(event.operation, event.caller, event.client) for event in world.events] == [
        ("CreateTable", BEN, "192.0.2.1"), ("BatchCreatePartition", BEN, "192.0.2.1")
    ]  # fmt: skip
    assert {event.request_id for event in world.events} == {world.crawls.get("c").history[0].run_id}
    assert f"arn:aws:glue:us-east-1:{A}:table/air/flights" in list(world.events[0].resources)  # type: ignore[arg-type]
    assert {event.user_agent for event in world.events} == {"penstock-crawler/c"}


@pytest.mark.parametrize(
    ("actions", "denied", "message"),
    [
        (("glue:GetCrawler",), None, "not authorized to perform: glue:CreateCrawler"),
        (("glue:*", "s3:*"), "glue:CreateTable", "not authorized to perform: glue:CreateTable"),
        (("glue:*", "s3:GetObject"), None, "not authorized to perform: s3:ListBucket"),
        (("glue:*", "s3:ListBucket"), None, "not authorized to perform: s3:GetObject"),
    ],
)
def test_a_scheduled_crawl_fails_when_its_starter_has_lost_the_right(
    world: Scheduled, actions: tuple[str, ...], denied: str | None, message: str
) -> None:
    world.grant(*actions, denied=denied)
    world.crawler(schedule="cron(0 12 * * ? *)", starter=Starter(caller=BEN, action="CreateCrawler"))
    last = world.next_run()
    assert (last.status, message in str(last.message)) == ("FAILED", True)
    assert world.events == []
    world.crawls.start("c", starter=Starter(caller=Caller(account=A, principal=root_arn(A)), action="StartCrawler"))
    wait(lambda: world.crawls.get("c").state == "READY")
    assert [event.operation for event in world.events] == ["CreateTable", "BatchCreatePartition"]


def test_a_crawler_of_a_deleted_user_does_not_run(world: Scheduled) -> None:
    world.crawler(schedule="cron(0 12 * * ? *)", starter=Starter(caller=BEN, action="CreateCrawler"))
    assert f"{BEN.principal} does not exist any more" in str(world.next_run().message)


def test_a_crawl_whose_starter_is_denied_its_connection_does_not_connect(world: Scheduled) -> None:
    world.grant("glue:*", denied="glue:GetConnection")
    target = JdbcTarget(connection="db", path="air/%")
    world.crawler(schedule="cron(0 12 * * ? *)", starter=Starter(caller=BEN, action="CreateCrawler"))
    world.store.change("c", lambda crawler: replace(crawler, others=(target,)))
    assert "not authorized to perform: glue:GetConnection" in str(world.next_run().message)


def test_a_service_without_access_refuses_every_crawl(world: Scheduled) -> None:
    world.crawls.close()
    world.crawls = CrawlService(world.store, world.catalog, world.lake, now=lambda: world.now)
    world.crawler(schedule="cron(0 12 * * ? *)", starter=Starter(caller=BEN, action="CreateCrawler"))
    last = world.next_run()
    assert (last.status, "nothing decides what it may do" in str(last.message)) == ("FAILED", True)
    assert world.catalog.databases() == []
    assert not world.events


def test_a_crawl_that_a_trigger_starts_has_the_rights_of_the_crawler_s_starter(world: Scheduled) -> None:
    world.grant("glue:*", "s3:ListBucket")
    world.crawler(starter=Starter(caller=BEN, action="CreateCrawler"))
    world.crawls.start("c", run_id="by-a-trigger")
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert (last.status, "not authorized to perform: s3:GetObject" in str(last.message)) == ("FAILED", True)


def test_changes_of_a_crawler_without_a_starter_are_recorded(world: Scheduled) -> None:
    world.crawler(schedule="cron(0 12 * * ? *)")
    assert world.next_run().status == "SUCCEEDED"
    assert [(event.operation, event.caller) for event in world.events] == [
        ("CreateTable", None),
        ("BatchCreatePartition", None),
    ]
