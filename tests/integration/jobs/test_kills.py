"""A run's end is known whatever is killed: the server, the run's supervisor, the run itself."""

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from penstock.retries import wait_until
from penstock.testing.server import RunningServer, start_server
from tests.integration.jobs.conftest import Jobs, make_role
from tests.integration.jobs.test_runs import WAITS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


class Restarted:
    """A server over ``home`` that is killed and started again, with the same key."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server = start_server(home, arguments=["--jobs", "--jobs-lake-folder"])

    def jobs(self) -> Jobs:
        return Jobs(server=self.server, glue=self.server.client("glue"))

    def again(self) -> Jobs:
        self.server.stop(signal.SIGKILL)
        key, secret = self.server.access_key_id, self.server.secret_access_key
        self.server = start_server(
            self.home, arguments=["--jobs", "--jobs-lake-folder"], access_key_id=key, secret_access_key=secret
        )
        return self.jobs()


@pytest.fixture
def restarted(home: Path) -> Iterator[Restarted]:
    result = Restarted(home)
    make_role(result.server)
    yield result
    result.server.stop()


def supervisor(server: RunningServer, run_id: str) -> int:
    document = orjson.loads((server.home / "jobs" / server.account / run_id / "begun.json").read_bytes())
    return int(document["pid"])


def has_begun(jobs: Jobs, run_id: str) -> bool:
    return jobs.output(run_id) == ["waits"]


def test_runs_outlive_the_server_and_their_ends_are_known(restarted: Restarted, tmp_path: Path) -> None:
    jobs = restarted.jobs()
    go = tmp_path / "go"
    jobs.create("waits", WAITS, ExecutionProperty={"MaxConcurrentRuns": 4})
    ids = [jobs.start("waits", Arguments={"--file": str(go)}) for _ in range(3)]
    for id_ in ids:
        jobs.wait("waits", id_, {"RUNNING"})
        assert wait_until(functools.partial(has_begun, jobs, id_), seconds=240)
    goes_on, is_killed, ends_meanwhile = ids
    jobs = restarted.again()
    # Killed while a server watches it, the supervisor cannot tell: the run has failed, and its process is gone, too.
    assert jobs.run("waits", is_killed)["JobRunState"] == "RUNNING"
    os.kill(supervisor(restarted.server, is_killed), signal.SIGKILL)
    run = jobs.wait("waits", is_killed)
    assert (run["JobRunState"], run["ErrorMessage"]) == (
        "FAILED",
        "The run's process was killed, and left no exit status.",
    )
    # Ended while no server runs.
    restarted.server.stop(signal.SIGKILL)
    go.touch()
    ended = restarted.home / "jobs" / restarted.server.account / goes_on / "ended.json"
    assert wait_until(ended.exists, seconds=240)
    jobs = restarted.again()
    for name in (goes_on, ends_meanwhile):
        run = jobs.wait("waits", name)
        assert run["JobRunState"] == "SUCCEEDED", run
    assert jobs.start("waits", Arguments={"--file": str(go)})
