"""The budget of restarts: sessions are processes here that a job kills, in place of Spark's JVM."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

from penstock.errors import DataProblem, EnvironmentProblem
from penstock.retries import RetryPolicy
from penstock.spark.jvm import JvmDied
from penstock.spark.running import host as module
from penstock.spark.running.host import HostSettings, SparkHost
from penstock.spark.session import SessionSettings


class Plan:
    """A job that does one action in each session: commit, kill (the session), fail, or end."""

    def __init__(self, name: str, *actions: str) -> None:
        self.name = name
        self.actions = list(actions)
        self.batches = 0
        self.ends: list[Exception | None] = []
        self.stop = threading.Event()

    def ended(self, error: Exception | None) -> None:
        self.ends.append(error)

    def committed(self) -> int:
        return self.batches

    def run(self, spark: Any) -> None:
        for action in self.actions.pop(0).split():
            if action == "commit":
                self.batches += 1
            elif action == "stop":
                self.stop.set()
            elif action == "fail":
                raise DataProblem(f"{self.name} cannot go on.")
            elif action == "kill":
                spark.process.kill()
                raise ConnectionRefusedError
            elif action == "suffer":
                spark.process.wait()
                raise ConnectionResetError


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    opened: list[Any] = []

    def open_session(settings: SessionSettings, **_: object) -> Any:
        if settings.master == "fails later" and opened:
            raise EnvironmentProblem("Spark did not start: it was killed.")
        if settings.master == "fails":
            raise EnvironmentProblem("Spark did not start: no memory.")
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        session = SimpleNamespace(process=process, stop=process.kill)
        session.newSession = lambda: session
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        opened.append(session)
        return session

    monkeypatch.setattr(module, "open_session", open_session)
    monkeypatch.setattr(module, "forget_session", lambda _: None)
    yield opened
    for item in opened:
        item.process.kill()
        item.process.communicate()


@contextmanager
def _host(
    restarts: int, said: list[str], stop: threading.Event | None = None, master: str = "local[1]"
) -> Iterator[SparkHost]:
    settings = HostSettings(
        session=SessionSettings(log=Path("/logs/spark.log"), master=master),
        name="tests",
        locations=[],
        stop=stop or threading.Event(),
        restarts=restarts,
        pauses=RetryPolicy(pauses=(0.0,)),
        on_restart=lambda sentence, _: said.append(sentence),
    )
    yield SparkHost(settings)


@pytest.mark.usefixtures("sessions")
def test_a_committed_batch_gives_the_budget_back() -> None:
    said: list[str] = []
    job = Plan("p", "kill", "kill", "commit kill", "kill", "")
    with _host(2, said) as host:
        [outcome] = host.run([job])
    assert outcome.error is None
    assert [sentence.split("(restart ")[1][0] for sentence in said] == ["1", "2", "1", "2"]
    assert host.restarts == 4


@pytest.mark.usefixtures("sessions")
def test_the_budget_is_used_up_without_a_commit() -> None:
    said: list[str] = []
    with _host(2, said) as host:
        [outcome] = host.run([Plan("p", "commit kill", "kill", "kill")])
    assert isinstance(outcome.error, JvmDied)
    assert outcome.error.exit_code == 3
    assert "3 died in a row, and no batch was committed between" in str(outcome.error)
    assert "/logs/spark.log" in str(outcome.error)
    assert len(said) == 2


def test_a_failing_job_ends_alone_and_a_dead_jvm_ends_all(sessions: list[Any]) -> None:
    jobs = [Plan("bad", "fail"), Plan("killer", "kill", ""), Plan("other", "suffer", ""), Plan("done", "")]
    said: list[str] = []
    with _host(1, said) as host:
        outcomes = host.run(jobs)
    assert [outcome.job for outcome in outcomes] == ["bad", "killer", "other", "done"]
    assert [type(outcome.error) for outcome in outcomes] == [DataProblem, type(None), type(None), type(None)]
    # Each is told once that it ended, when it did for good.
    assert [job.ends for job in jobs] == [[outcome.error] for outcome in outcomes]
    assert len(said) == 1
    assert len(sessions) == 2


def test_a_jvm_that_dies_while_the_run_is_stopped_is_not_started_again(sessions: list[Any]) -> None:
    job = Plan("p", "stop kill")
    with _host(3, [], job.stop) as host:
        [outcome] = host.run([job])
    assert "The run was being stopped" in str(outcome.error)
    assert len(sessions) == 1


@pytest.mark.usefixtures("sessions")
def test_a_restart_that_does_not_start_counts_and_a_first_start_is_an_error() -> None:
    said: list[str] = []
    with _host(2, said, master="fails later") as host:
        [outcome] = host.run([Plan("p", "kill", "")])
    assert "Spark did not start: it was killed. It is not started again: 3 died in a row" in str(outcome.error)
    assert len(said) == 2
    with _host(2, said, master="fails") as host, pytest.raises(EnvironmentProblem, match="no memory"):
        host.run([Plan("p", "")])
