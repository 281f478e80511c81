"""A standalone Spark cluster as processes of this machine: a master and workers, from the pyspark package."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow
import pyspark

from penstock.local.java import find_java
from penstock.retries import wait_until

__all__ = ["StandaloneCluster", "python_of_executors", "standalone_cluster"]

_HOME = Path(pyspark.__file__).parent
_SECONDS = 240.0


@dataclass
class StandaloneCluster:
    """The URL of the master, and the workers' processes."""

    url: str
    folder: Path
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors, as the loss of a machine does."""
        worker = self.workers[number]
        executors = psutil.Process(worker.pid).children(recursive=True)
        for executor in [psutil.Process(worker.pid), *executors]:
            with suppress(psutil.NoSuchProcess):
                executor.kill()
        worker.wait(_SECONDS)

    def executors(self) -> list[psutil.Process]:
        """The executors of all workers that live."""
        alive = [worker for worker in self.workers if worker.poll() is None]
        return [child for popen in alive for child in psutil.Process(popen.pid).children() if child.name() == "java"]


def _start(folder: Path, name: str, arguments: list[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    settings = {
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(_HOME / "bin" / "spark-class"), *arguments],
            env={**inherited, **settings, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


@contextmanager
def standalone_cluster(folder: Path, *, workers: int, environment: Mapping[str, str]) -> Iterator[StandaloneCluster]:
    """Run a cluster of workers with one core each; ``environment`` is what executors inherit from them."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "master.log"
    ports = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = _start(folder, "master", ["org.apache.spark.deploy.master.Master", *ports, "--port", "0"], {})
    processes = [master]

    def found(pattern: str) -> list[str]:
        return re.findall(pattern, log.read_text(errors="replace"))

    try:
        assert wait_until(lambda: found(r"Starting Spark master at (\S+)"), seconds=_SECONDS), log.read_text()
        cluster = StandaloneCluster(found(r"Starting Spark master at (\S+)")[0], folder)
        for number in range(workers):
            place = folder / f"worker-{number}"
            arguments = ["--cores", "1", "--memory", "640m", "--work-dir", str(place), *ports, cluster.url]
            worker = _start(folder, place.name, ["org.apache.spark.deploy.worker.Worker", *arguments], environment)
            processes.append(worker)
            cluster.workers.append(worker)
        registered = wait_until(lambda: len(found(r"Registering worker")) >= workers, seconds=_SECONDS)
        assert registered, log.read_text()
        yield cluster
    finally:
        for process in reversed(processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_SECONDS)


def python_of_executors(folder: Path) -> dict[str, str]:
    """The base interpreter with pyarrow and what that needs, and nothing else of this environment."""
    packages = Path(pyarrow.__file__).parents[1]
    extra = folder / "packages"
    extra.mkdir()
    for name in ("pyarrow", "numpy", "numpy.libs"):
        if (packages / name).exists():
            (extra / name).symlink_to(packages / name)
    base = os.path.realpath(sys.executable)
    lacks = subprocess.run([base, "-c", "import penstock"], env={"PYTHONPATH": str(extra)}, capture_output=True, check=False)
    assert b"No module named 'penstock'" in lacks.stderr
    return {"PYSPARK_PYTHON": base, "PYTHONPATH": str(extra)}
