"""Runners on two machines of one name, as containers of one image are, over one PostgreSQL: each run is started once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.jobs.model import JOBS, RUNS, Job, JobRun
from penstock.jobs.runs import RunRequest, RunService
from penstock.retries import wait_until
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MACHINE = Path(__file__).with_name("machine.py")
RUNS_OF_JOB = 6
SCRIPT = """
import os, sys, time
file = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(file, f"{sys.argv[4]}\\n".encode())
time.sleep(2)
"""


@pytest.fixture
def store(postgres_database: Database) -> SqlJobStore:
    return SqlJobStore(postgres_database)


@pytest.fixture
def machines(tmp_path: Path, postgres_url: str, store: SqlJobStore) -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as running:
        result = []
        for number in range(2):
            arguments = [postgres_url, str(tmp_path / f"home{number}"), str(number)]
            process = subprocess.Popen([sys.executable, "-P", str(MACHINE), *arguments], stdin=subprocess.PIPE)
            running.callback(process.communicate)
            result.append(process)
        yield result


def test_two_machines_of_one_name_start_each_run_once(
    store: SqlJobStore, tmp_path: Path, machines: list[subprocess.Popen[bytes]]
) -> None:
    script, begun = tmp_path / "script.py", tmp_path / "begun"
    script.write_text(SCRIPT)
    begun.touch()
    settings = {
        "Role": "r",
        "Command": {"Name": "pythonshell", "ScriptLocation": str(script)},
        "ExecutionProperty": {"MaxConcurrentRuns": RUNS_OF_JOB},
    }
    store.add(JOBS, Job(name="j", settings=settings, created=NOW, modified=NOW))
    service = RunService(store)
    ids = [f"jr_{number}" for number in range(RUNS_OF_JOB)]
    for id_ in ids:
        service.start("j", RunRequest(id=id_, arguments={"--begun": str(begun), "--run": id_}))

    owners: dict[str, set[str]] = {}

    def ended() -> list[JobRun]:
        job_runs = store.list(RUNS, "j", after=None, limit=9)
        for run in job_runs:
            if run.owner is not None:
                owners.setdefault(run.id, set()).add(run.owner)
        return [run for run in job_runs if run.ended]

    assert wait_until(lambda: len(ended()) == RUNS_OF_JOB, seconds=240), ended()
    assert [(run.state, run.error) for run in ended()] == [("SUCCEEDED", None)] * RUNS_OF_JOB
    assert [len(owner) for owner in owners.values()] == [1] * RUNS_OF_JOB, "no machine took over another one's run"
    assert sorted(begun.read_text().split()) == ids
    hosts = {str(run.host) for run in ended()}
    assert len(hosts) == 2
    assert {host.partition("#")[0] for host in hosts} == {"worker"}
    assert all(machine.poll() is None for machine in machines)
