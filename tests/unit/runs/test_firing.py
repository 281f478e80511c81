"""Schedules of triggers: fired once by several servers, and left out when no server was there."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.jobs.model import JOBS, RUNS, Job
from penstock.jobs.runs import RunService
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
