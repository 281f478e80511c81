"""Ceph's object gateway over a cluster of one node that keeps its objects in memory: three processes, together 110 MB.

Debian's packages: radosgw, ceph-mon, ceph-osd, ceph-common. ``make store-radosgw`` installs them.
"""

import contextlib
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from penstock.durable import writing
from penstock.errors import EnvironmentProblem
from penstock.local.processes.child import Service
from penstock.local.processes.ports import answers, free_ports
from penstock.local.processes.probes import answers_http
from penstock.testing.standin import running_service
from penstock.testing.stores.port import S3Store, find_program, new_key

__all__ = ["running_radosgw"]

_STEP_SECONDS = 120
_CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = v2:127.0.0.1:{mon}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
auth cluster required = none
auth service required = none
auth client required = none
run dir = {folder}
admin socket = {folder}/$name.$pid.asok
log file = {folder}/$name.log
pid file = {folder}/$name.pid
crash dir = {folder}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
[mon]
mon data = {folder}/mon
mon cluster log file = {folder}/cluster.log
mon initial members = a
[osd]
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
[client.rgw]
# The gateway would insist on an encrypted login, which needs keys.
ms mon client mode = crc
auth client required = none
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw data = {folder}/rgw
rgw thread pool size = 32
"""


@contextlib.contextmanager
def running_radosgw() -> Iterator[S3Store]:
    """Run the gateway with an empty bucket during the block.

    Raises :class:`EnvironmentProblem` if a program is missing, or a step of the cluster's making fails.
    """
    program = find_program("radosgw")
    mon, port = free_ports(2)
    # Ceph's sockets are in the folder, and a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="ceph-"))
    try:
        for name in ("mon", "osd", "rgw"):
            (folder / name).mkdir()
        fsid = str(uuid.uuid4())
        with writing(folder / "ceph.conf") as file:
            file.write(_CONFIGURATION.format(fsid=fsid, folder=folder, mon=mon, port=port).encode())
        cluster = _Cluster(folder)
        cluster.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon}]", f"{folder}/monmap")
        cluster.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", f"{folder}/monmap")
        store = S3Store(name="radosgw", version=_version(program), endpoint_url=f"http://127.0.0.1:{port}", **new_key())
        monitor = cluster.service("ceph-mon", "-i", "a", ready=lambda: answers("127.0.0.1", mon))
        with running_service(monitor):
            disk = str(uuid.uuid4())
            cluster.run("ceph", "osd", "new", disk)
            cluster.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
            with running_service(cluster.service("ceph-osd", "-i", "0")):
                # The only way to give a key: the command line of a program that ends.
                keys = ["--access-key", store.access_key_id, "--secret", store.secret_access_key]
                user = ["user", "create", "--uid", "tests", "--display-name", "tests"]
                cluster.run("radosgw-admin", "-n", "client.rgw", *user, *keys)
                gateway = cluster.service(
                    "radosgw", "-n", "client.rgw", ready=lambda: answers_http("127.0.0.1", port, "/", 2)
                )
                with running_service(gateway):
                    store.client().create_bucket(Bucket=store.bucket)
                    yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Cluster:
    """The programs of one cluster, by its configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _command(self, program: str, arguments: Sequence[str]) -> list[str]:
        own = [] if program == "monmaptool" else ["-c", str(self._folder / "ceph.conf")]
        return [find_program(program), *own, *arguments]

    def run(self, program: str, *arguments: str) -> None:
        """Run a program that ends. Raises :class:`EnvironmentProblem` if it fails."""
        try:
            result = subprocess.run(
                self._command(program, arguments), capture_output=True, text=True, timeout=_STEP_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise EnvironmentProblem(f"{program} did not end within {_STEP_SECONDS} s.") from error
        if result.returncode != 0:
            raise EnvironmentProblem(f"{program} failed: {result.stderr.strip()[-500:]}")

    def service(self, program: str, *arguments: str, ready: Callable[[], bool] = lambda: True) -> Service:
        """Return a program that stays."""
        return Service(
            name=program,
            title=f"program {program}",
            command=lambda: [*self._command(program, arguments), "-f"],
            is_ready=ready,
            start_timeout=_STEP_SECONDS,
            stop_grace=5,
        )


def _version(program: str) -> str:
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return printed.split()[2] if len(printed.split()) > 2 else "unknown"
