"""Supervision: order of start and stop, restarts of what crashes or hangs, errors that show the log."""

import contextlib
import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from penstock.errors import EnvironmentProblem
from penstock.local.processes.child import Service
from penstock.local.processes.supervisor import LivenessPolicy, RestartPolicy, Supervisor
from penstock.testing.polling import alive, eventually

# Says in a common diary when it starts and ends, and waits.
PART = """
import signal, sys, time
name, diary = sys.argv[1:3]
def say(what):
    with open(diary, "a") as file: file.write(f"{what} {name}\\n")
def end(*_):
    say("end"); sys.exit(0)
signal.signal(signal.SIGTERM, end)
say("start")
time.sleep(600)
"""


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    file = tmp_path / "diary"
    file.write_text("")
    return file


def part(name: str, diary: Path, *, after: tuple[str, ...] = (), is_ready: Callable[[], bool] | None = None) -> Service:
    return Service(
        name=name,
        title=f"part {name}",
        command=lambda: [sys.executable, "-c", PART, name, str(diary)],
        is_ready=is_ready or (lambda: f"start {name}\n" in diary.read_text()),
        after=after,
        # Longer than a loaded machine lets a process wait for its turn.
        stop_grace=60,
    )


def child_of(leash_pid: int) -> int:
    eventually(lambda: len(psutil.Process(leash_pid).children()) == 1, "the leash has started its child")
    return psutil.Process(leash_pid).children()[0].pid


def test_starts_in_order_and_stops_in_reverse(tmp_path: Path, diary: Path) -> None:
    services = [part("c", diary, after=("b",)), part("b", diary, after=("a",)), part("a", diary)]
    supervisor = Supervisor(services, tmp_path / "logs")
    supervisor.start()
    assert all(state.ready and state.start_seconds is not None for state in supervisor.states)
    supervisor.stop()
    assert diary.read_text().split("\n") == ["start a", "start b", "start c", "end c", "end b", "end a", ""]
    assert not any(state.ready for state in supervisor.states)


def test_independent_services_start_side_by_side(tmp_path: Path, diary: Path) -> None:
    meet = threading.Barrier(2, timeout=120)

    def both_asked() -> bool:
        meet.wait()
        return True

    supervisor = Supervisor([part(name, diary, is_ready=both_asked) for name in "ab"], tmp_path / "logs")
    supervisor.start()
    supervisor.stop()


def test_one_that_does_not_start_stops_the_others(tmp_path: Path, diary: Path) -> None:
    broken = Service(
        name="broken",
        title="broken part",
        command=lambda: [sys.executable, "-c", "raise SystemExit('no such luck')"],
        is_ready=lambda: False,
    )
    supervisor = Supervisor([part("a", diary), broken, part("never", diary, is_ready=lambda: False)], tmp_path / "logs")
    with pytest.raises(EnvironmentProblem, match=r"The broken part ended with status 1 .*\nno such luck\n"):
        supervisor.start()
    assert not any(state.pid for state in supervisor.states)


@contextlib.contextmanager
def watched(supervisor: Supervisor) -> Iterator[Supervisor]:
    supervisor.start()
    watcher = threading.Thread(target=supervisor.run)
    watcher.start()
    try:
        yield supervisor
    finally:
        supervisor.request_stop()
        watcher.join(30)
        supervisor.stop()


def running_pid(supervisor: Supervisor, place: int = 0) -> int:
    pid = supervisor.states[place].pid
    assert pid is not None
    return pid


def failure_of(supervisor: Supervisor) -> EnvironmentProblem:
    assert supervisor.failure is not None
    return supervisor.failure


def is_back(supervisor: Supervisor, restarts: int) -> bool:
    state = supervisor.states[0]
    return state.restarts == restarts and state.ready


def crash(supervisor: Supervisor, place: int = 0) -> None:
    os.kill(child_of(running_pid(supervisor, place)), signal.SIGKILL)


def test_a_service_that_crashes_too_often_is_reported_and_tried_again_while_others_run(tmp_path: Path, diary: Path) -> None:
    reported: list[str] = []
    may_come_back = threading.Event()
    may_come_back.set()
    supervisor = Supervisor(
        [part("a", diary, is_ready=may_come_back.is_set), part("b", diary)],
        tmp_path / "logs",
        policy=RestartPolicy(limit=2, pause=0.01),
        report=reported.append,
    )
    with watched(supervisor):
        bystander = running_pid(supervisor, 1)
        for restarts in (1, 2):
            crash(supervisor)
            eventually(partial(is_back, supervisor, restarts), "the part is back")
        assert supervisor.failure is None
        may_come_back.clear()
        crash(supervisor)
        eventually(lambda: supervisor.failure is not None, "it counts as failed")
        failure, problem = failure_of(supervisor), supervisor.states[0].problem
        assert "The part a ended with status 137 and was restarted 2 times already" in failure.message
        assert f"The whole log is {tmp_path / 'logs' / 'a.log'}." in str(failure)
        assert problem == failure.message
        assert "part a ended with status 137; restarting it in 0.01 s (1 of 2)" in reported
        assert supervisor.states[1].pid == bystander
        assert supervisor.states[1].ready
        may_come_back.set()
        eventually(lambda: supervisor.states[0].ready, "it is back all the same")
        assert (supervisor.failure, supervisor.states[0].problem) == (None, None)
    assert not alive(bystander)


def test_a_service_that_ends_at_each_start_is_reported_in_one_sentence(tmp_path: Path, diary: Path) -> None:
    came_up = threading.Event()
    whole = part("a", diary)

    def command() -> list[str]:
        return [sys.executable, "-c", "print('a word'); raise SystemExit(7)"] if came_up.is_set() else list(whole.command())

    broken = dataclasses.replace(whole, command=command, is_ready=lambda: not came_up.is_set())
    reported: list[str] = []
    policy = RestartPolicy(limit=1, pause=0.01, longest_pause=0.1)
    supervisor = Supervisor([broken], tmp_path / "logs", policy=policy, report=reported.append)
    with watched(supervisor):
        came_up.set()
        crash(supervisor)
        eventually(lambda: any("did not start" in line for line in reported), "it was tried again")
    first = next(line for line in reported if "did not start" in line).partition("\n")[0]
    assert first == (
        "The part a did not start: The part a ended with status 7 before it was ready and was restarted 1 times already "
        "in 300 s; the next restart is in 0.02 s. Its last lines:"
    )


def test_a_failed_restart_does_not_delay_the_others(tmp_path: Path, diary: Path) -> None:
    stuck = threading.Event()
    came_up = threading.Event()

    def prepare() -> None:
        if came_up.is_set():
            raise OSError(28, "No space left on device")

    def is_ready() -> bool:
        return not came_up.is_set() or stuck.is_set()

    broken = dataclasses.replace(part("a", diary, is_ready=is_ready), prepare=prepare)
    policy = RestartPolicy(limit=1, pause=0.01, longest_pause=0.1)
    reported: list[str] = []
    supervisor = Supervisor([broken, part("b", diary)], tmp_path / "logs", policy=policy, report=reported.append)
    with watched(supervisor):
        came_up.set()
        crash(supervisor, 0)
        eventually(lambda: supervisor.failure is not None, "it counts as failed")
        assert any("did not start: [Errno 28] No space left on device" in line for line in reported)
        crash(supervisor, 1)
        eventually(lambda: supervisor.states[1].restarts == 1 and supervisor.states[1].ready, "the other is back")


def test_a_service_that_runs_and_does_not_answer_is_replaced(tmp_path: Path, diary: Path) -> None:
    asked: list[float] = []
    hung = threading.Event()

    def is_alive(seconds: float) -> bool:
        asked.append(seconds)
        return not hung.is_set() or supervisor.states[0].restarts > 0

    service = dataclasses.replace(part("a", diary), is_alive=is_alive)
    liveness = LivenessPolicy(interval=0.01, deadline=7, patience=3)
    supervisor = Supervisor([service], tmp_path / "logs", policy=RestartPolicy(pause=0.01), liveness=liveness)
    with watched(supervisor):
        first = running_pid(supervisor)
        eventually(lambda: len(asked) > 5, "it is asked")
        assert supervisor.states[0].pid == first
        # Stopped, it would ignore any other signal.
        os.kill(child_of(first), signal.SIGSTOP)
        hung.set()
        eventually(partial(is_back, supervisor, 1), "it is replaced")
        assert set(asked) == {7}


def test_a_stop_during_the_start_ends_it(tmp_path: Path, diary: Path) -> None:
    supervisor = Supervisor([part("a", diary, is_ready=lambda: False)], tmp_path / "logs")

    def ask() -> None:
        eventually(lambda: bool(diary.read_text()), "it runs")
        supervisor.request_stop()

    asked = threading.Thread(target=ask)
    asked.start()
    supervisor.start()
    supervisor.stop()
    asked.join()
    assert diary.read_text() == "start a\nend a\n"
