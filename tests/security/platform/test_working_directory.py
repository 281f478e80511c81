"""Python modules are never imported from the folder in which a command is called.

The folder of these tests has a file for every module of the standard library and of each installed package. Each writes to a
log that it was executed.
"""

import contextlib
import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.local.processes.ports import free_ports
from penstock.testing.clients import boto3_client
from penstock.testing.polling import eventually

_KEYS = {"access_key_id": "AKIASECURITYTESTS", "secret_access_key": "a-secret-of-the-tests"}
_CONSOLE = [str(Path(sys.executable).with_name("penstock"))]
_MODULE = [sys.executable, "-P", "-m", "penstock"]
_PROTO = 'syntax = "proto3"; import "google/type/date.proto"; message Trip { google.type.Date day = 1; }'


@dataclass(frozen=True)
class Trap:
    """A working directory full of modules."""

    folder: Path
    diary: Path

    @property
    def sprung(self) -> list[str]:
        return self.diary.read_text().split() if self.diary.exists() else []

    def popen(self, command: list[str], log: Path) -> "subprocess.Popen[bytes]":
        bootstrap = {f"PENSTOCK_BOOTSTRAP_{name.upper()}": value for name, value in _KEYS.items()}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
        with log.open("wb") as output:
            return subprocess.Popen(command, cwd=self.folder, env=inherited | bootstrap, stdout=output, stderr=output)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    folder, diary = tmp_path / "trap", tmp_path / "diary"
    folder.mkdir()
    names = {name.partition(".")[0] for name in importlib.metadata.packages_distributions()} | set(sys.stdlib_module_names)
    for name in names - {"penstock"}:
        (folder / f"{name}.py").write_text(f"with open({str(diary)!r}, 'a') as file:\n    file.write(__name__ + chr(10))\n")
    return Trap(folder, diary)


@contextlib.contextmanager
def ended(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_the_trap_works(trap: Trap, tmp_path: Path) -> None:
    process = trap.popen([sys.executable, "-c", "import wave"], tmp_path / "log")
    assert process.wait(60) == 0
    assert trap.sprung == ["wave"]


@pytest.mark.parametrize("start", [_CONSOLE, _MODULE], ids=["console script", "python -P -m"])
def test_serve_with_its_workers_and_compilers(trap: Trap, tmp_path: Path, start: list[str]) -> None:
    [port] = free_ports(1)
    command = [*start, "serve", "--home", str(tmp_path / "home"), "--port", str(port), "--workers", "2"]
    process = trap.popen(command, tmp_path / "log")
    with ended(process):
        eventually(lambda: process.poll() is not None or listens(port), "the server listens", 60)
        glue = boto3_client("glue", f"http://127.0.0.1:{port}", "us-east-1", **_KEYS)
        glue.create_registry(RegistryName="r")
        glue.create_schema(RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="PROTOBUF", SchemaDefinition=_PROTO)
        athena = boto3_client("athena", f"http://127.0.0.1:{port}", "us-east-1", **_KEYS)
        athena.start_query_execution(QueryString="SELECT 1")
    assert trap.sprung == []


@pytest.mark.jvm
def test_up_in_the_background(trap: Trap, tmp_path: Path) -> None:
    ports = dict(zip(("--server-port", "--s3-port", "--kafka-port", "--controller-port"), free_ports(4), strict=True))
    home = ["--home", str(tmp_path / "home")]
    options = [f"{name}={port}" for name, port in ports.items()]
    up = trap.popen([*_CONSOLE, "up", *home, "--detach", *options], tmp_path / "log")
    try:
        assert up.wait(200) == 0, (tmp_path / "log").read_text()
    finally:
        assert trap.popen([*_CONSOLE, "down", *home], tmp_path / "down").wait(100) == 0
    assert trap.sprung == []


@pytest.mark.spark
def test_a_glue_script_and_sparks_python_workers(trap: Trap, tmp_path: Path) -> None:
    job = tmp_path / "jobs" / "job.py"
    job.parent.mkdir()
    (job.parent / "beside.py").write_text("def twice(number):\n    return 2 * number\n")
    job.write_text(
        textwrap.dedent("""
            import sys
            from pyspark import SparkContext
            import beside
            def work(number):
                import wave
                return beside.twice(number)
            print("SUM", sum(SparkContext().parallelize(range(4), 1).map(work).collect()))
        """)
    )
    options = ["--master", "local[1]", "--driver-memory", "512m", "--lake", str(tmp_path), "--log", str(tmp_path / "spark")]
    process = trap.popen([*_CONSOLE, "glue", "run", *options, str(job)], tmp_path / "log")
    assert process.wait(200) == 0, (tmp_path / "log").read_text()
    assert "SUM 12" in (tmp_path / "log").read_text()
    assert trap.sprung == []
