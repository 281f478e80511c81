"""Schedules of triggers: fired once by several servers, and left out when no server was there."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from penstock.errors import InvalidInput, StorageFull
from penstock.jobs.errors import EntryNotFound, IllegalWorkflow, JobsOff, TooManyRuns
from penstock.jobs.model import JOBS, RUNS, Job, JobRun
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.store import Entry, Kind
from penstock.jobs.triggers import TRIGGERS, Trigger, TriggerService
from penstock.jobs.workflows import WORKFLOW_RUNS, WorkflowService
from penstock.runs.firing import TriggerRunner
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, 11, 59, tzinfo=UTC)
SETTINGS = {"Role": "r", "Command": {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}}


class Crawls:
    """Crawlers whose crawls run until a test ends them; each has an id, as those of the server have."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}

    def start(self, _name: str, crawl_id: str) -> None:
        self.states.setdefault(crawl_id, "RUNNING")

    def last(self, _name: str) -> None:
        return None

    def state(self, _name: str, crawl_id: str) -> str | None:
        return self.states.get(crawl_id)


class World:
    def __init__(self) -> None:
        self.database = new_database()
        self.store = SqlJobStore(self.database)
        self.now = NOW
        self.store.add(JOBS, Job(name="j", settings=SETTINGS, created=NOW, modified=NOW))
        self.runs = RunService(self.store, now=lambda: self.now)
        self.workflows = WorkflowService(self.store, now=lambda: self.now)
        self.crawls = Crawls()
        self.servers = [self.server() for _ in range(2)]
        self.triggers = TriggerService(self.store, fire=self.servers[0].fire, now=lambda: self.now)

    def server(self, **parts: Any) -> TriggerRunner:
        given = {"runs": self.runs, "workflows": self.workflows, "crawls": self.crawls, **parts}
        return TriggerRunner(**{"store": self.store, **given}, now=lambda: self.now)

    def trigger(self, *, actions: Sequence[Mapping[str, str]] = ({"JobName": "j"},), **members: object) -> None:
        settings = {"Schedule": "cron(0 12 * * ? *)", "Actions": actions}
        trigger = Trigger(name="noon", type="SCHEDULED", settings=settings, **members)  # type: ignore[arg-type]
        self.triggers.create(trigger, activate=True)

    def tick(self) -> None:
        for server in self.servers:
            server.tick()


@pytest.fixture
def world() -> World:
    return World()


def test_a_schedule_is_fired_once_by_two_servers(world: World) -> None:
    world.trigger()
    world.tick()
    assert world.store.active(RUNS) == []
    world.now = NOW + timedelta(minutes=2)
    world.tick()
    world.tick()
    assert [run.trigger for run in world.store.active(RUNS)] == ["noon"]
    assert world.triggers.get("noon").next_run == datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
    world.triggers.stop("noon")
    world.now += timedelta(days=1)
    world.tick()
    assert len(world.store.active(RUNS)) == 1


def test_a_time_at_which_no_server_was_there_is_left_out(world: World) -> None:
    world.trigger()
    world.now = NOW + timedelta(minutes=7)
    world.tick()
    assert world.store.active(RUNS) == []


def test_a_scheduled_workflow_is_started_once(world: World) -> None:
    world.workflows.create("night", {}, {})
    world.trigger(workflow="night")
    world.now = NOW + timedelta(minutes=2)
    world.tick()
    world.tick()
    (run,) = world.store.active(WORKFLOW_RUNS)
    (started,) = world.store.active(RUNS)
    assert (started.workflow, started.trigger) == (f"night/{run.id}", "noon")


def test_an_action_that_cannot_be_started_ends_in_the_workflows_error(world: World) -> None:
    world.workflows.create("night", {}, {})
    settings = {"Actions": [{"JobName": "missing"}]}
    world.store.add(JOBS, Job(name="missing", settings=SETTINGS, created=NOW, modified=NOW))
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=settings), activate=False)
    world.store.delete(JOBS, "missing")
    run = world.workflows.start("night", {})
    world.tick()
    world.tick()
    workflow_run = world.workflows.run("night", run.id)
    assert (workflow_run.status, workflow_run.error) == ("COMPLETED", "Job missing was not found.")


def test_a_stopped_workflow_starts_nothing_more(world: World) -> None:
    world.workflows.create("night", {}, {})
    world.triggers.create(
        Trigger(name="t", type="ON_DEMAND", workflow="night", settings={"Actions": [{"JobName": "j"}]}), activate=False
    )
    run = world.workflows.start("night", {})
    world.workflows.stop("night", run.id)
    world.tick()
    assert world.workflows.run("night", run.id).status == "STOPPED"
    assert world.store.active(RUNS) == []


class Killed(Exception):
    """The server is killed at this point."""


class KilledRuns(RunService):
    def start(self, job: str, request: RunRequest) -> JobRun:
        raise Killed(job, request)


def test_a_server_that_is_killed_leaves_no_schedule_out(world: World) -> None:
    world.trigger()
    world.now = NOW + timedelta(minutes=2)
    killed = world.server(runs=KilledRuns(world.store))
    with pytest.raises(Killed):
        killed.tick()
    world.tick()
    assert [run.trigger for run in world.store.active(RUNS)] == ["noon"]
    assert world.triggers.get("noon").next_run == datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def test_the_end_of_a_run_meets_a_condition_once_though_it_is_dealt_with_again(world: World) -> None:
    for name in ("a", "b", "after"):
        several = {**SETTINGS, "ExecutionProperty": {"MaxConcurrentRuns": 9}}
        world.store.add(JOBS, Job(name=name, settings=several, created=NOW, modified=NOW))
    conditions = [{"JobName": name, "State": "SUCCEEDED", "LogicalOperator": "EQUALS"} for name in ("a", "b")]
    settings = {"Predicate": {"Logical": "AND", "Conditions": conditions}, "Actions": [{"JobName": "after"}]}
    world.triggers.create(Trigger(name="both", type="CONDITIONAL", settings=settings), activate=True)

    def succeeded(name: str) -> JobRun:
        run = JobRun(
            id=f"jr_{name}", job=name[0], trigger="t", settings=SETTINGS, state="SUCCEEDED", started=NOW, modified=NOW
        )
        world.store.add(RUNS, run)
        return run

    first = [succeeded("a1"), succeeded("b1")]
    for run in first:
        for server in world.servers:
            server.ended(run)
    assert len([run for run in world.store.active(RUNS) if run.job == "after"]) == 1
    world.servers[1].ended(succeeded("a2"))
    assert len([run for run in world.store.active(RUNS) if run.job == "after"]) == 1
    world.servers[1].ended(succeeded("b2"))
    assert len([run for run in world.store.active(RUNS) if run.job == "after"]) == 2


T = TypeVar("T", bound=Entry)


class KilledStore(SqlJobStore):
    """A store whose server is killed before it changes an entry of ``kind``."""

    def __init__(self, world: World, kind: Kind[Any]) -> None:
        super().__init__(world.database)
        self.kind = kind

    def change(self, kind: Kind[T], key: str, change: Callable[[T], T]) -> T | None:
        if kind is self.kind:
            raise Killed(key)
        return super().change(kind, key, change)


def test_a_crawl_that_a_trigger_starts_is_started_once_though_its_server_is_killed(world: World) -> None:
    world.trigger(actions=[{"CrawlerName": "files"}, {"JobName": "j"}])
    world.now = NOW + timedelta(minutes=2)
    with pytest.raises(Killed):
        world.server(store=KilledStore(world, TRIGGERS)).tick()
    assert list(world.crawls.states.values()) == ["RUNNING"]
    world.tick()
    assert (len(world.crawls.states), len(world.store.active(RUNS))) == (1, 1)
    assert world.triggers.get("noon").next_run == datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def test_a_crawl_of_a_workflow_is_followed_though_its_server_is_killed(world: World) -> None:
    world.workflows.create("night", {}, {})
    settings = {"Actions": [{"CrawlerName": "files"}]}
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=settings), activate=False)
    run = world.workflows.start("night", {})
    with pytest.raises(Killed):
        world.server(store=KilledStore(world, WORKFLOW_RUNS)).tick()
    assert list(world.crawls.states.values()) == ["RUNNING"]
    world.tick()
    assert world.workflows.run("night", run.id).status == "RUNNING"
    world.crawls.states.update(dict.fromkeys(world.crawls.states, "SUCCEEDED"))
    world.tick()
    assert len(world.crawls.states) == 1
    workflow_run = world.workflows.run("night", run.id)
    assert (workflow_run.status, workflow_run.error) == ("COMPLETED", None)


def test_all_triggers_of_a_workflow_are_found_among_more_than_may_be_added_now(world: World) -> None:
    world.workflows.create("night", {}, {})
    for number in range(1_001):
        world.store.add(TRIGGERS, Trigger(name=f"a{number:04}", type="ON_DEMAND", settings={"Actions": []}))
    world.store.add(TRIGGERS, Trigger(name="z", type="ON_DEMAND", workflow="night", settings={"Actions": []}))
    assert [trigger.name for trigger in world.workflows.triggers("night")] == ["z"]


def test_a_workflow_crawls_with_one_crawler_twice(world: World) -> None:
    world.workflows.create("night", {}, {})
    first = {"Actions": [{"CrawlerName": "files"}]}
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=first), activate=False)
    ended = {"CrawlerName": "files", "CrawlState": "SUCCEEDED", "LogicalOperator": "EQUALS"}
    again = {**first, "Predicate": {"Conditions": [ended]}}
    world.triggers.create(Trigger(name="u", type="CONDITIONAL", workflow="night", settings=again), activate=True)
    run = world.workflows.start("night", {})
    for crawls in (1, 2):
        for _ in range(3):
            world.tick()
        assert list(world.crawls.states.values()) == ["SUCCEEDED"] * (crawls - 1) + ["RUNNING"]
        world.crawls.states.update(dict.fromkeys(world.crawls.states, "SUCCEEDED"))
    world.tick()
    workflow_run = world.workflows.run("night", run.id)
    assert (workflow_run.status, workflow_run.error) == ("COMPLETED", None)


def _branches(world: World) -> str:
    """Complete a run of J1, then J2 and J3 (which fails), then J4 behind J2 and J5 behind J3, and a crawl behind both."""
    for number in range(1, 6):
        settings = {**SETTINGS, "ExecutionProperty": {"MaxConcurrentRuns": 9}}
        world.store.add(JOBS, Job(name=f"j{number}", settings=settings, created=NOW, modified=NOW))
    world.workflows.create("w", {"DefaultRunProperties": {"day": "1"}}, {})
    files = {"CrawlerName": "files"}
    for name, before, actions in (
        ("t1", (), [{"JobName": "j1"}]),
        ("t2", ("j1",), [{"JobName": "j2"}, {"JobName": "j3"}]),
        ("t4", ("j2",), [{"JobName": "j4"}]),
        ("t5", ("j3",), [{"JobName": "j5"}]),
        ("t6", ("j4", "j5"), [files]),
    ):
        conditions = [{"JobName": job, "State": "SUCCEEDED", "LogicalOperator": "EQUALS"} for job in before]
        given: dict[str, Any] = {"Actions": actions, **({"Predicate": {"Conditions": conditions}} if before else {})}
        trigger = Trigger(name=name, type="CONDITIONAL" if before else "ON_DEMAND", workflow="w", settings=given)
        world.triggers.create(trigger, activate=bool(before))
    run = world.workflows.start("w", {"size": "3"})
    _work(world, run.id, failing=("j3",))
    return run.id


def _work(world: World, run_id: str, *, failing: Sequence[str] = ()) -> list[str]:
    """End the jobs and crawls of a workflow's run until it is completed; return the jobs in the order of their ends."""
    order: list[str] = []
    while world.workflows.run("w", run_id).status == "RUNNING":
        world.tick()
        world.crawls.states.update(dict.fromkeys(world.crawls.states, "SUCCEEDED"))
        for run in world.store.active(RUNS):
            if run.workflow == f"w/{run_id}" and not run.ended:
                order.append(run.job)
                end = replace(run, state="FAILED" if run.job in failing else "SUCCEEDED", handled=True)
                world.store.change(RUNS, run.id, lambda _run, end=end: end)  # type: ignore[misc]
    return order


def test_a_workflow_is_resumed_at_its_failed_node_and_runs_what_is_downstream(world: World) -> None:
    first = _branches(world)
    assert len(world.crawls.states) == 0
    world.now += timedelta(minutes=1)
    # Of two that depend on each other the upstream one begins.
    run, nodes = world.workflows.resume("w", first, ["wnode_job_j3", "wnode_job_j3"])
    assert (nodes, run.previous, run.properties) == (["wnode_job_j3"], first, {"day": "1", "size": "3"})
    assert run.id != first
    with pytest.raises(IllegalWorkflow, match="RUNNING"):
        world.workflows.resume("w", run.id, nodes)
    assert _work(world, run.id, failing=("j5",)) == ["j3", "j5"]
    assert (len(world.crawls.states), world.workflows.run("w", run.id).status) == (0, "COMPLETED")
    (fifth,) = [
        job_run for job_run in world.store.list(RUNS, "j5", after=None, limit=9) if job_run.workflow == f"w/{run.id}"
    ]
    assert [predecessor.partition("/")[0] for predecessor in fifth.predecessors] == ["j3"]
    # A run that resumes another is resumed as well: j4's end is that of the first run.
    world.now += timedelta(minutes=1)
    last, nodes = world.workflows.resume("w", run.id, ["wnode_job_j5"])
    assert (_work(world, last.id), len(world.crawls.states)) == (["j5"], 1)
    ends = {end["node"]: end["run"] for end in world.workflows.run("w", last.id).ends.values()}
    assert [ends[f"wnode_job_j{number}"] for number in range(1, 6)] == [first, first, run.id, first, last.id]
    # And the first one again, with a node and one that follows from it.
    again, nodes = world.workflows.resume("w", first, ["wnode_job_j4", "wnode_job_j2"])
    assert (nodes, _work(world, again.id)) == (["wnode_job_j2"], ["j2", "j4"])


def test_what_cannot_be_resumed_is_refused_by_name(world: World) -> None:
    first = _branches(world)
    for nodes in (["wnode_job_j5"], ["wnode_trigger_t1"], ["wnode_job_j3", "x"], []):
        with pytest.raises(InvalidInput, match=r"has not run the node|NodeIds is empty"):
            world.workflows.resume("w", first, nodes)
    with pytest.raises(EntryNotFound):
        world.workflows.resume("w", "wr_none", ["wnode_job_j3"])
    world.workflows.update("w", {"MaxConcurrentRuns": 1})
    running = world.workflows.start("w", {})
    with pytest.raises(TooManyRuns):
        world.workflows.resume("w", first, ["wnode_job_j3"])
    world.workflows.stop("w", running.id)
    world.tick()
    with pytest.raises(IllegalWorkflow, match="STOPPED"):
        world.workflows.resume("w", running.id, ["wnode_job_j1"])
    world.triggers.update("t2", {"Actions": [{"JobName": "j2"}, {"JobName": "j4"}]})
    with pytest.raises(InvalidInput, match="others now"):
        world.workflows.resume("w", first, ["wnode_job_j3"])
    with pytest.raises(JobsOff):
        WorkflowService(world.store, enabled=False).resume("w", first, ["wnode_job_j3"])


def test_a_job_that_a_trigger_cannot_start_has_a_run_that_says_why(world: World) -> None:
    world.trigger()
    running = world.runs.start("j", RunRequest())
    world.now = NOW + timedelta(minutes=2)
    world.tick()
    (refused,) = [run for run in world.store.list(RUNS, "j", after=None, limit=9) if run.id != running.id]
    assert (refused.state, refused.trigger, refused.completed) == ("ERROR", "noon", world.now)
    expected = "Trigger noon could not start it: Concurrent runs exceeded for j: this job may have 1 at once."
    assert str(refused.error).startswith(expected)


def test_a_workflow_that_its_schedule_cannot_start_has_a_run_that_says_why(world: World) -> None:
    world.workflows.create("night", {"MaxConcurrentRuns": 1}, {})
    world.trigger(workflow="night")
    world.workflows.start("night", {})
    world.now = NOW + timedelta(minutes=2)
    world.tick()
    refused = world.workflows.last_run("night")
    assert refused is not None
    assert (refused.status, refused.completed) == ("ERROR", world.now)
    assert str(refused.error).startswith("Trigger noon could not start it: Concurrent runs exceeded for night")


class FullRuns(RunService):
    def start(self, job: str, request: RunRequest) -> JobRun:
        raise StorageFull(f"{job} {request.id}")


def test_what_a_full_store_keeps_from_being_started_is_started_later(world: World) -> None:
    world.trigger()
    world.now = NOW + timedelta(minutes=2)
    with pytest.raises(StorageFull):
        world.server(runs=FullRuns(world.store)).tick()
    assert world.store.list(RUNS, "j", after=None, limit=9) == []
    world.tick()
    assert [run.state for run in world.store.list(RUNS, "j", after=None, limit=9)] == ["STARTING"]


def test_a_retry_that_is_refused_is_a_failed_attempt_and_its_workflow_ends(world: World) -> None:
    world.store.change(JOBS, "j", lambda found: replace(found, settings={**found.settings, "MaxRetries": 1}))
    world.workflows.create("night", {}, {})
    settings = {"Actions": [{"JobName": "j"}]}
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=settings), activate=False)
    workflow = world.workflows.start("night", {})
    world.tick()
    (run,) = world.store.active(RUNS)
    failed = world.store.change(RUNS, run.id, lambda found: replace(found, state="FAILED"))
    assert failed is not None
    ray = {"Name": "glueray", "ScriptLocation": "s3://lake/a.py"}
    world.store.change(JOBS, "j", lambda found: replace(found, settings={**found.settings, "Command": ray}))
    world.runs.try_again(failed)
    attempt = world.runs.get("j", f"{run.id}_attempt_1")
    assert (attempt.state, attempt.attempt, attempt.previous) == ("FAILED", 1, run.id)
    assert str(attempt.error).startswith("The retry could not be started: Jobs of the command glueray are not served.")
    world.tick()
    assert world.workflows.run("night", workflow.id).status == "COMPLETED"


def test_the_next_look_is_when_a_schedule_is_due_and_at_once_while_a_workflow_runs(world: World) -> None:
    assert world.servers[0].tick() == math.inf
    world.trigger()
    assert world.servers[0].tick() == 60.0
    world.workflows.create("night", {}, {})
    settings = {"Actions": [{"JobName": "j"}]}
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=settings), activate=False)
    world.workflows.start("night", {})
    assert world.servers[0].tick() == 0.0
