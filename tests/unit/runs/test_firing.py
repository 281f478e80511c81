"""Schedules of triggers: fired once by several servers, and left out when no server was there."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.jobs.model import JOBS, RUNS, Job, JobRun
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.triggers import Trigger, TriggerService
from penstock.jobs.workflows import WORKFLOW_RUNS, WorkflowService
from penstock.runs.firing import TriggerRunner
from penstock.store.memory.jobs import MemoryJobStore

NOW = datetime(2026, 11, 22, 11, 59, tzinfo=UTC)
SETTINGS = {"Role": "r", "Command": {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}}


class NoCrawls:
    def start(self, name: str) -> None:
        raise NotImplementedError(name)

    def last(self, _name: str) -> None:
        return None

    def running(self, _name: str) -> bool:
        return False


class World:
    def __init__(self) -> None:
        self.store = MemoryJobStore()
        self.now = NOW
        self.store.add(JOBS, Job(name="j", settings=SETTINGS, created=NOW, modified=NOW))
        self.runs = RunService(self.store, now=lambda: self.now)
        self.workflows = WorkflowService(self.store, now=lambda: self.now)
        self.servers = [
            TriggerRunner(self.store, self.runs, self.workflows, NoCrawls(), now=lambda: self.now) for _ in range(2)
        ]
        self.triggers = TriggerService(self.store, fire=self.servers[0].fire, now=lambda: self.now)

    def trigger(self, **members: object) -> None:
        settings = {"Schedule": "cron(0 12 * * ? *)", "Actions": [{"JobName": "j"}]}
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
    world.triggers.create(Trigger(name="t", type="ON_DEMAND", workflow="night", settings=settings), activate=False)
    run = world.workflows.start("night", {})
    world.tick()
    world.tick()
    found = world.workflows.run("night", run.id)
    assert (found.status, found.error) == ("COMPLETED", "Job missing was not found.")


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
    killed = TriggerRunner(world.store, KilledRuns(world.store), world.workflows, NoCrawls(), now=lambda: world.now)
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
