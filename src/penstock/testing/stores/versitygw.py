"""Versity's S3 gateway over a folder: one Go program of 50 MB, ready in a fraction of a second. ``make store-versitygw``."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.local.processes.child import Service
from penstock.local.processes.ports import free_ports
from penstock.local.processes.probes import answers_http
from penstock.testing.standin import running_service
from penstock.testing.stores.port import S3Store, find_program, new_key

__all__ = ["running_versitygw"]


@contextlib.contextmanager
def running_versitygw() -> Iterator[S3Store]:
    """Run the gateway with an empty bucket during the block. Raises :class:`EnvironmentProblem` if it is not installed."""
    program = find_program("versitygw")
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="penstock-versitygw-") as folder:
        data = Path(folder) / "data"
        data.mkdir()
        store = S3Store(name="versitygw", version=_version(program), endpoint_url=f"http://127.0.0.1:{port}", **new_key())
        service = Service(
            name="versitygw",
            title="S3 gateway of Versity",
            command=lambda: [program, "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(data)],
            environment={"ROOT_ACCESS_KEY": store.access_key_id, "ROOT_SECRET_KEY": store.secret_access_key},
            is_ready=lambda: answers_http("127.0.0.1", port, "/", 2),
        )
        with running_service(service):
            store.client().create_bucket(Bucket=store.bucket)
            yield store


def _version(program: str) -> str:
    """Return the version of the module that Go built the program from."""
    printed = subprocess.run(["go", "version", "-m", program], capture_output=True, text=True, check=False).stdout
    return next((line.split()[2] for line in printed.splitlines() if line.split()[:1] == ["mod"]), "unknown")
