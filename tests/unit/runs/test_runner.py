"""What a runner does with runs of machines that are gone, and with those that no supervisor was started for."""

import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.jobs.model import RUNS, JobRun
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.sessions import SESSIONS, STATEMENTS, Session, Statement, session_run
from penstock.jobs.triggers import WORKFLOWS, Workflow
from penstock.jobs.workflows import WORKFLOW_RUNS, WorkflowRun
from penstock.retries import wait_until
from penstock.runs.folders import RunFolder
from penstock.runs.runner import JobRunner
from tests.unit.runs.conftest import NOW, World, printed


def test_a_run_of_a_machine_without_a_sign_of_life_has_failed(world: World) -> None:
    run = world.runs.start("j", RunRequest())
    lost = {"owner": "one:1:x", "host": "one", "state": "RUNNING", "heartbeat": NOW}
    world.store.change(RUNS, run.id, lambda found: replace(found, **lost))  # type: ignore[arg-type]
    other = world.runner("two")
    other.tick()
    world.now = NOW + timedelta(seconds=59)
    other.tick()
    assert world.run(run.id).state == "RUNNING"
    world.now = NOW + timedelta(seconds=61)
    other.tick()
    found = world.run(run.id)
    assert (found.state, found.completed) == ("FAILED", world.now)
    assert found.error == "The machine one, which ran it, has given no sign of life for 61 seconds."
    other.tick()
    assert world.run(run.id).handled


def test_a_clock_that_is_ahead_or_set_ends_no_run_of_another_machine(world: World) -> None:
    run = world.runs.start("j", RunRequest())
    other = world.runner("two")

    def beats(found: JobRun) -> JobRun:
        return replace(found, owner="one:1:x", host="one", state="RUNNING", heartbeat=world.now)

    for beat in range(5):
        world.store.change(RUNS, run.id, beats)
        world.skew = timedelta(hours=beat)
        other.tick()
        world.now += timedelta(seconds=5)
        other.tick()
        assert world.run(run.id).state == "RUNNING"
    world.now += timedelta(seconds=61)
    other.tick()
    assert world.run(run.id).state == "FAILED"


def test_a_run_whose_server_ended_before_it_started_anything_is_started(world: World) -> None:
    run = world.runs.start("j", RunRequest())
    here = world.runner("here")
    lost = {"owner": "here:1:x", "host": "here", "heartbeat": NOW - timedelta(minutes=2)}
    world.store.change(RUNS, run.id, lambda found: replace(found, **lost))  # type: ignore[arg-type]
    here.tick()
    world.now += timedelta(seconds=61)
    assert world.until(here, run.id, "SUCCEEDED").error is None


def test_two_runners_start_a_run_once(world: World) -> None:
    runs = [world.runs.start("j", RunRequest(id=f"jr_{number}")) for number in range(1)]
    runners = [world.runner("here") for _ in range(4)]
    barrier = threading.Barrier(4)

    def tick(runner: JobRunner) -> None:
        barrier.wait()
        runner.tick()

    threads = [threading.Thread(target=tick, args=(job_runner,)) for job_runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(job_runner._children) for job_runner in runners) == 1
    owner = next(job_runner for job_runner in runners if job_runner._children)
    world.until(owner, runs[0].id, "SUCCEEDED")


def test_sessions_take_no_places_of_runs(world: World) -> None:
    settings = {"Command": {"Name": "glueetl"}, "Role": "r"}
    for number in range(5):
        idle = JobRun(
            id=f"session_{number}", job=f"session {number}", settings=settings, state="RUNNING", started=NOW, modified=NOW
        )
        world.store.add(RUNS, replace(idle, host="here", owner="there:1:x", heartbeat=NOW))
    started = world.runs.start("j", RunRequest(id="jr_1"))
    world.until(world.runner("here"), started.id, "SUCCEEDED")


def test_a_run_takes_no_longer_than_its_timeout(world: World) -> None:
    script = world.folder / "script.py"
    script.write_text("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n")
    run = world.runs.start("j", RunRequest(settings={"Timeout": 1}))
    here = world.runner("here")
    prepare = RunFolder.prepare

    def shorter(folder: RunFolder, plan: Mapping[str, Any]) -> None:
        prepare(folder, {**plan, "seconds": 0.2, "grace": 0.2})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "prepare", shorter)
        here.tick()
    job_run = world.until(here, run.id, "TIMEOUT")
    assert job_run.error == "The run took longer than its Timeout of 1 minutes."


def test_the_folders_of_deleted_runs_are_removed(world: World) -> None:
    here = world.runner("here")
    world.runs.start("j", RunRequest(id="jr_kept"))
    world.until(here, "jr_kept", "SUCCEEDED")
    (world.folder / "here/jr_gone/work").mkdir(parents=True)
    here.sweep()
    assert [path.name for path in (world.folder / "here").iterdir()] == ["jr_kept"]


def test_a_machine_that_comes_back_ends_the_runs_that_were_given_up(world: World) -> None:
    (world.folder / "script.py").write_text("import time\ntime.sleep(600)\n")
    run = world.runs.start("j", RunRequest())
    here = world.runner("here")
    world.until(here, run.id, "RUNNING")
    here.close()
    other = world.runner("other")
    other.tick()
    world.now += timedelta(seconds=61)
    world.until(other, run.id, "FAILED")
    folder = here.folder(run.id)
    assert folder.supervised
    world.runner("here").sweep()
    assert wait_until(lambda: not folder.supervised, seconds=240)
    ended = folder.ended()
    assert ended is not None
    assert ended["reason"] == "stop"


def test_a_trigger_or_a_retry_that_is_refused_keeps_no_run_from_being_attended(world: World) -> None:
    here = world.runner("here")
    dealt: list[str] = []

    def refuse(_run: JobRun) -> None:
        raise InvalidInput("The job has changed.")

    def poison() -> float:
        raise ZeroDivisionError

    here.on_end(refuse)
    here.on_end(lambda run: dealt.append(run.id))
    here.on_tick(poison)
    run = world.runs.start("j", RunRequest())
    world.until(here, run.id, "SUCCEEDED")
    here.tick()
    here.tick()
    assert world.run(run.id).handled
    assert dealt == [run.id]


@pytest.mark.parametrize("killed", [False, True], ids=["its script ends", "its supervisor is killed"])
def test_no_process_of_a_run_is_left(world: World, killed: bool) -> None:
    wait = "time.sleep(600)" if killed else ""
    # One without the run's environment is found by its supervisor alone.
    environment = "" if killed else ", env={}"
    script = f"""import subprocess, time
from pathlib import Path
found = [subprocess.Popen(["sleep", "600"], start_new_session=own{environment}).pid for own in (False, True)]
print(*found, flush=True)
{wait}
"""
    (world.folder / "script.py").write_text(script)
    here = world.runner("here")
    run = world.runs.start("j", RunRequest())
    here.tick()
    assert wait_until(lambda: printed(here, run.id), seconds=240)
    if killed:
        begun = here.folder(run.id).begun()
        assert begun is not None
        os.kill(begun["pid"], signal.SIGKILL)
    world.until(here, run.id, "FAILED" if killed else "SUCCEEDED")
    left = [int(part) for part in printed(here, run.id)[0].split()]
    assert wait_until(lambda: not any(_lives(number) for number in left), seconds=240)


def _lives(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_runs_and_their_logs_are_kept_for_a_year(world: World) -> None:
    here = world.runner("here")
    old = world.runs.start("j", RunRequest())
    world.until(here, old.id, "SUCCEEDED")
    here.tick()
    # The run's own clock is not that of the test.
    world.store.change(RUNS, old.id, lambda found: replace(found, completed=NOW))
    world.now = NOW + timedelta(days=364)
    goes_on = world.runs.start("j", RunRequest())
    here.sweep()
    assert world.run(old.id).handled
    assert here.folder(old.id).root.is_dir()
    world.now = NOW + timedelta(days=366)
    here.sweep()
    assert world.store.get(RUNS, old.id) is None
    assert not here.folder(old.id).root.exists()
    assert not world.run(goes_on.id).ended


def test_workflows_runs_and_sessions_are_forgotten_as_runs_of_jobs_are(world: World) -> None:
    here, old, young = world.runner("here"), NOW - timedelta(days=366), NOW - timedelta(days=364)
    world.store.add(WORKFLOWS, Workflow(name="night", settings={}, created=old, modified=old))
    flow = WorkflowRun(id="wr_old", workflow="night", status="COMPLETED", started=old, completed=old)
    running = replace(flow, id="wr_running", status="RUNNING", completed=None)
    world.store.add(WORKFLOW_RUNS, flow)
    world.store.add(WORKFLOW_RUNS, running)
    world.store.add(WORKFLOW_RUNS, replace(flow, id="wr_young", completed=young))
    for name, ended in (("old", old), ("young", young), ("running", None)):
        world.store.add(SESSIONS, Session(id=name, settings={}, created=old))
        world.store.add(STATEMENTS, Statement(session=name, number=1, code="1", state="AVAILABLE", created=old))
        run = JobRun(id=session_run(name), job=f"session {name}", settings={}, started=old, modified=old)
        end = {"state": "STOPPED", "completed": ended, "handled": True}
        world.store.add(RUNS, replace(run, **end) if ended else run)  # type: ignore[arg-type]
    here.sweep()
    kept = [workflow_run.id for workflow_run in world.store.list(WORKFLOW_RUNS, "night", after=None, limit=9)]
    assert kept == ["wr_running", "wr_young"]
    assert [session.id for session in world.store.list(SESSIONS, "", after=None, limit=9)] == ["running", "young"]
    assert world.store.get(RUNS, session_run("old")) is None
    assert [world.store.get(STATEMENTS, f"{name}/1") is None for name in ("old", "young", "running")] == [True, False, False]


def test_a_runner_looks_seldom_while_nothing_runs(world: World) -> None:
    here, due = world.runner("here"), [3_600.0]
    here.on_tick(lambda: due[0])
    assert here.tick() == 600.0
    due[0] = 2.0
    assert here.tick() == 2.0
    run = world.runs.start("j", RunRequest())
    assert here.tick() == 0.5
    world.until(here, run.id, "SUCCEEDED")
    assert wait_until(lambda: here.tick() == 2.0, seconds=240)


def test_who_starts_a_run_wakes_its_runner(world: World) -> None:
    here, looked = world.runner("here"), threading.Event()

    def look() -> float:
        looked.set()
        return 3_600.0

    here.on_tick(look)
    here.begin()
    assert looked.wait(30)
    woken = RunService(world.store, wake=here.wake, now=lambda: world.now).start("j", RunRequest())
    assert wait_until(lambda: world.run(woken.id).state == "SUCCEEDED", seconds=240)
