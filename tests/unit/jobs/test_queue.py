"""Runs of a job that queues them begin in the order of their requests."""

import pytest

from penstock.jobs.definitions import JobService
from penstock.jobs.errors import TooManyRuns
from penstock.jobs.model import RUNS
from penstock.jobs.runs import RunRequest, RunService
from penstock.store.memory.jobs import MemoryJobStore


def test_a_new_run_does_not_overtake_one_that_waits() -> None:
    store = MemoryJobStore()
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
