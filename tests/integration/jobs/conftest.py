"""One server that runs jobs, for all tests of this folder."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.local.tls.listeners import PlatformTls, listen_arguments, trust_environment
from penstock.retries import wait_until
from penstock.testing.server import RunningServer, running_server

TRUST = {"Effect": "Allow", "Principal": {"Service": "glue.amazonaws.com"}, "Action": "sts:AssumeRole"}
READ = {"Effect": "Allow", "Action": ["glue:Get*"], "Resource": "*"}
QUICK = ("--jobs-environment", "SPARK_SUBMIT_OPTS")
"""Options of a server whose runs get the tests' own options of Spark's process."""
ENDED = {"SUCCEEDED", "FAILED", "STOPPED", "TIMEOUT", "ERROR"}


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """A server's jobs, and what tests do with them."""

    server: RunningServer
    glue: Any
    s3_url: str = ""

    def script(self, name: str, text: str) -> str:
        path = self.server.lake / "lake/scripts" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return f"s3://lake/scripts/{name}.py"

    def create(self, name: str, text: str, kind: str = "pythonshell", **members: Any) -> None:
        command = {"Name": kind, "ScriptLocation": self.script(name, text)}
        self.glue.create_job(Name=name, Role="etl", Command=command, **members)

    def start(self, name: str, **members: Any) -> str:
        return str(self.glue.start_job_run(JobName=name, **members)["JobRunId"])

    def run(self, name: str, run_id: str) -> Any:
        return self.glue.get_job_run(JobName=name, RunId=run_id)["JobRun"]

    def wait(self, name: str, run_id: str, states: set[str] = ENDED, seconds: float = 240) -> Any:
        """Return the run once it is in one of ``states``."""
        assert wait_until(lambda: self.run(name, run_id)["JobRunState"] in states, seconds=seconds), self.run(name, run_id)
        return self.run(name, run_id)

    def output(self, run_id: str, stream: str = "output") -> list[str]:
        files = sorted((self.server.home / "jobs" / self.server.account / run_id / stream).glob("*.jsonl"))
        return [json.loads(line)[1] for file in files for line in file.read_text().splitlines()]


def make_role(server: RunningServer, *statements: Any, verify: str | None = None) -> None:
    """Create the role ``etl``, which Glue may assume, with the right to read the catalog and ``statements``."""
    iam = server.client("iam", verify=verify)
    iam.create_role(RoleName="etl", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": TRUST}))
    document = json.dumps({"Version": "2012-10-17", "Statement": [READ, *statements]})
    iam.put_role_policy(RoleName="etl", PolicyName="read", PolicyDocument=document)


@contextlib.contextmanager
def jobs_beside_s3(folder: Path, *statements: Any, tls: PlatformTls | None = None) -> Iterator[Jobs]:
    """Run a server in ``folder`` whose lake an S3 endpoint serves, by the rights of each caller; both with ``tls``."""
    home = folder / "home"
    (port,) = free_ports(1)
    url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    listening = listen_arguments(tls, (), insecure_plain_http=False)
    arguments = ["--jobs", *QUICK, "--s3-endpoint-url", url, *listening]
    verify = None if tls is None else str(tls.authority)
    with running_server(home, arguments=arguments, environment=trust_environment(tls)) as server:
        keys: dict[str, Any] = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
        place: dict[str, Any] = {"lake": server.lake, "folder": folder / "s3", "home": home, "port": port, "tls": tls}
        with ObjectStore(account=server.account, **place, **keys):
            make_role(server, *statements, verify=verify)
            yield Jobs(server=server, glue=server.client("glue", verify=verify), s3_url=url)


@pytest.fixture(scope="package")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    folder: Path = tmp_path_factory.mktemp("jobs")
    (folder / "readable").mkdir()
    arguments = ["--jobs", *QUICK, "--jobs-lake-folder", "--jobs-read", str(folder / "readable")]
    with running_server(folder / "home", arguments=arguments) as server:
        make_role(server)
        yield Jobs(server=server, glue=server.client("glue"))
