"""Runs that wait begin in the order of their requests, and what no run could have is refused."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from penstock.errors import InvalidInput
from penstock.jobs.definitions import JobService
from penstock.jobs.errors import TooManyEntries, TooManyRuns
from penstock.jobs.model import RUNS
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.sessions import SessionService
from penstock.jobs.workflows import WorkflowService
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.sqlite import new_database


def test_a_new_run_does_not_overtake_one_that_waits() -> None:
    store = SqlJobStore(new_database())
    jobs, runs = JobService(store), RunService(store)
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}
    jobs.create("j", {"Role": "r", "Command": command, "JobRunQueuingEnabled": True}, {})
    first, second = runs.start("j", RunRequest()), runs.start("j", RunRequest())
    assert (first.state, second.state) == ("STARTING", "WAITING")
    runs.stop("j", first.id)
    assert runs.start("j", RunRequest()).state == "WAITING"
    with pytest.raises(TooManyRuns):
        runs.start("j", RunRequest(settings={"JobRunQueuingEnabled": False}))
    assert [run.state for run in store.active(RUNS)] == ["STOPPED", "WAITING", "WAITING"]


def test_an_argument_that_no_process_can_be_given_is_refused_before_a_run() -> None:
    jobs = JobService(SqlJobStore(new_database()))
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}
    longest = "x" * 131_071
    subprocess.run([sys.executable, "-c", "", longest], check=True)
    jobs.create("j", {"Role": "r", "Command": command, "DefaultArguments": {"--text": longest}}, {})
    with pytest.raises(InvalidInput, match="'--text' has more than 131,071 bytes"):
        jobs.create("k", {"Role": "r", "Command": command, "DefaultArguments": {"--text": "\u00e9" * 65_536}}, {})


def test_a_server_without_jobs_refuses_what_starts_one_as_the_caller_s_error() -> None:
    store = SqlJobStore(new_database())
    starts: list[Callable[[], object]] = [
        lambda: RunService(store, enabled=False).start("j", RunRequest()),
        lambda: SessionService(store, enabled=False).create("s", {}, {}),
        lambda: WorkflowService(store, enabled=False).start("w", {}),
    ]
    for start in starts:
        with pytest.raises(InvalidInput, match="--jobs") as refused:
            start()
        assert (refused.value.http_status, refused.value.aws_code) == (400, "InvalidInputException")


def test_a_job_has_no_endless_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.jobs.runs._MOST_WAITING", 2)
    store = SqlJobStore(new_database())
    jobs, runs = JobService(store), RunService(store)
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}
    jobs.create("j", {"Role": "r", "Command": command, "JobRunQueuingEnabled": True}, {})
    assert [runs.start("j", RunRequest()).state for _ in range(3)] == ["STARTING", "WAITING", "WAITING"]
    with pytest.raises(TooManyEntries, match=r"There are 2 waiting runs of job j already.* Stop some"):
        runs.start("j", RunRequest())
