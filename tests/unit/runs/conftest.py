"""A store of jobs, and runners of several machines over it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.jobs.model import JOBS, RUNS, Job, JobRun
from penstock.jobs.runs import RunService
from penstock.retries import wait_until
from penstock.runs.isolation import Isolation
from penstock.runs.plans import RunSettings
from penstock.runs.runner import JobRunner
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class World:
    """A store, a clock that tests move, and runners of two machines."""

    def __init__(self, folder: Path) -> None:
        self.store = SqlJobStore(new_database())
        self.now = NOW
        # What the clocks of machines are ahead of the test's.
        self.skew = timedelta()
        self.folder = folder
        self.runners: list[JobRunner] = []
        script = folder / "script.py"
        script.write_text("print('done')\n")
        settings = {"Role": "r", "Command": {"Name": "pythonshell", "ScriptLocation": str(script)}}
        self.store.add(JOBS, Job(name="j", settings=settings, created=NOW, modified=NOW))
        self.runs = RunService(self.store, now=lambda: self.now)

    def settings(self, host: str, **members: Any) -> RunSettings:
        usual = {"endpoint_url": "http://127.0.0.1:1", "account": "111122223333", "region": "eu-west-1", "lake": self.folder}
        return RunSettings(**{"folder": self.folder / host, **usual, **members})

    def runner(self, host: str, **members: Any) -> JobRunner:
        made = JobRunner(
            self.store,
            self.settings(host, **members),
            host=host,
            check=lambda _run: None,
            isolation=Isolation(account="111122223333", readable=(self.folder / "script.py",)),
            now=lambda: self.now + self.skew,
            monotonic=self.monotonic,
        )
        self.runners.append(made)
        return made

    def monotonic(self) -> float:
        """The seconds that pass on all machines, whatever their clocks say."""
        return (self.now - NOW).total_seconds()

    def run(self, run_id: str) -> JobRun:
        job_run = self.store.get(RUNS, run_id)
        assert job_run is not None
        return job_run

    def until(self, runner: JobRunner, run_id: str, state: str) -> JobRun:
        def ticked() -> bool:
            runner.tick()
            return self.run(run_id).state == state

        assert wait_until(ticked, seconds=240, every=0.05), self.run(run_id)
        return self.run(run_id)


def printed(runner: JobRunner, run_id: str, stream: str = "output") -> list[str]:
    """Return the lines that a run has written so far."""
    files = sorted((runner.folder(run_id).root / stream).glob("*.jsonl"))
    return [json.loads(line)[1] for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    for runner in made.runners:
        runner.close()
