"""Hadoop's own HDFS and YARN as processes of this machine: a NameNode, a DataNode, a ResourceManager, a NodeManager.

Their classes are in Hadoop's minicluster, of the version of the client in PySpark's jars.
"""

import getpass
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
import requests

from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.local.processes.child import Child, Service
from penstock.local.processes.ports import free_ports

__all__ = ["HadoopCluster", "hadoop_cluster"]

_JARS = Path(pyspark.__file__).parent / "jars"
# The client's classes come first; the log libraries are those that the client's own names are of.
_CLIENT = ("hadoop-client-api-*", "hadoop-client-runtime-*", "slf4j-api-*", "log4j-*", "jcl-over-slf4j-*")
_HDFS = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
}
_YARN = {
    "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}
_ADDRESSES = (
    *("dfs.namenode.rpc-address", "dfs.namenode.http-address", "dfs.datanode.address", "dfs.datanode.http.address"),
    *("dfs.datanode.ipc.address", "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address"),
    *("yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.admin.address"),
    *("yarn.resourcemanager.webapp.address", "yarn.nodemanager.address", "yarn.nodemanager.localizer.address"),
    *("yarn.nodemanager.webapp.address", "yarn.nodemanager.collector-service.address"),
)
_SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
_OPENED = ("java.lang", "java.util", "java.io", "java.net", "java.nio")
_LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5p %c{1}: %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True, kw_only=True)
class HadoopCluster:
    """``uri`` is the root of HDFS (``hdfs://HOST:PORT``), ``configuration`` the folder that HADOOP_CONF_DIR names.

    ``web`` is the address of the NameNode's WebHDFS.
    """

    uri: str
    folder: Path
    web: str

    @property
    def configuration(self) -> Path:
        """The folder of core-site.xml, hdfs-site.xml and yarn-site.xml."""
        return self.folder / "conf"

    def environment(self) -> dict[str, str]:
        """Return the variables with which Spark is a client of the cluster."""
        return {"HADOOP_CONF_DIR": str(self.configuration), "YARN_CONF_DIR": str(self.configuration)}

    def files(self, folder: str) -> dict[str, str]:
        """Return the paths of all files and folders below ``folder``, with their modes in octal; empty if it is missing."""
        modes: dict[str, str] = {}
        for status in self._get(folder, "LISTSTATUS").json().get("FileStatuses", {}).get("FileStatus", ()):
            path = f"{folder}/{status['pathSuffix']}"
            modes[path] = status["permission"]
            modes |= self.files(path) if status["type"] == "DIRECTORY" else {}
        return modes

    def copy(self, folder: str, target: Path) -> None:
        """Copy the files below ``folder`` to this machine's disk."""
        for path in self.files(folder):
            answer = self._get(path, "OPEN")
            if answer.ok:  # not a folder
                copy = target / path.removeprefix(folder).lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(answer.content)

    def exists(self, path: str) -> bool:
        """Return whether a file or folder is there."""
        return self._get(path, "GETFILESTATUS").ok

    def _get(self, path: str, operation: str) -> requests.Response:
        user = getpass.getuser()
        return requests.get(f"{self.web}/webhdfs/v1{path}", params={"op": operation, "user.name": user}, timeout=30)

    def containers(self, main: str) -> list[psutil.Process]:
        """Return the JVMs of this cluster's containers whose main class ends with ``main``."""
        local, processes = f"-Djava.io.tmpdir={self.folder}/", []
        for process in psutil.process_iter(["name", "cmdline"]):
            line = process.info["cmdline"] or []
            if process.info["name"] == "java" and any(part.startswith(local) for part in line):
                processes += [process] if any(part.endswith(main) for part in line) else []
        return processes

    def launch_scripts(self) -> list[Path]:
        """Return the scripts by which the NodeManager started containers, which it keeps for the length of a test."""
        return sorted((self.folder / "local").rglob("launch_container.sh"))

    def logs(self) -> str:
        """Return what all containers printed."""
        return "\n".join(path.read_text(errors="replace") for path in sorted((self.folder / "logs").rglob("std*")))


@contextmanager
def hadoop_cluster(folder: Path, *, yarn: bool = False) -> Iterator[HadoopCluster]:
    """Run an empty HDFS, with ``yarn`` also a cluster of one node, for the length of the block.

    Raises :class:`EnvironmentProblem` if the files cannot be fetched or a process does not start.
    """
    ports = dict(zip(_ADDRESSES, free_ports(len(_ADDRESSES)), strict=True))
    uri, web = (f"127.0.0.1:{ports[f'dfs.namenode.{kind}-address']}" for kind in ("rpc", "http"))
    cluster = HadoopCluster(uri=f"hdfs://{uri}", web=f"http://{web}", folder=folder)
    _configure(cluster, ports)
    command = _java(cluster)
    formatted = subprocess.run(
        [*command, _HDFS["namenode"], "-format", "-nonInteractive"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stdout[-3000:] + formatted.stderr[-3000:]
    pages = {
        "namenode": (ports["dfs.namenode.http-address"], "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"),
        "resourcemanager": (ports["yarn.resourcemanager.webapp.address"], "/ws/v1/cluster/metrics"),
    }
    with ExitStack() as stack:
        children = {}
        for name, main in (_HDFS | (_YARN if yarn else {})).items():
            service = _service(name, [*command, main], *pages.get(name, (0, "")))
            children[name] = Child(service, folder / "daemons" / f"{name}.log")
            stack.callback(children[name].stop)
            children[name].start()
        for name in pages.keys() & children.keys():
            children[name].wait_ready()
        yield cluster


def _service(name: str, command: list[str], port: int, page: str) -> Service:
    return Service(
        name=name,
        title=name,
        command=lambda: command,
        is_ready=lambda: _has_a_worker(f"http://127.0.0.1:{port}{page}"),
        environment={"JAVA_HOME": str(find_java(os.environ).home)},
        start_timeout=120,
        stop_grace=2,
    )


def _has_a_worker(page: str) -> bool:
    """Return whether a master's page says that its one worker is there."""
    try:
        answer = requests.get(page, headers={"Accept": "application/json"}, timeout=5).json()
    except (requests.RequestException, json.JSONDecodeError):
        return False
    rows = [answer, *answer.get("beans", ())]
    return any(row.get("activeNodes", row.get("NumLiveDataNodes")) for row in rows)


def _configure(cluster: HadoopCluster, ports: Mapping[str, int]) -> None:
    folder = cluster.folder
    cluster.configuration.mkdir(parents=True)
    addresses = {key: f"127.0.0.1:{port}" for key, port in ports.items()}
    core = {"fs.defaultFS": cluster.uri, "hadoop.tmp.dir": str(folder / "tmp")}
    hdfs = {
        "dfs.namenode.name.dir": (folder / "names").as_uri(),
        "dfs.datanode.data.dir": (folder / "blocks").as_uri(),
        "dfs.replication": "1",
        # How long a client waits for the block's report before it asks again whether a file is complete.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
    }
    yarn = {
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "logs"),
        "yarn.nodemanager.resource.memory-mb": "6144",
        "yarn.nodemanager.resource.cpu-vcores": "8",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nodemanager.delete.debug-delay-sec": "600",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.resourcemanager.scheduler.class": _SCHEDULER,
    }
    for name, settings in {"core": core, "hdfs": hdfs | addresses, "yarn": yarn | addresses}.items():
        rows = "".join(f"<property><name>{key}</name><value>{value}</value></property>\n" for key, value in settings.items())
        (cluster.configuration / f"{name}-site.xml").write_text(f"<configuration>\n{rows}</configuration>\n")
    (folder / "log4j2.properties").write_text(_LOG4J)


def _java(cluster: HadoopCluster) -> list[str]:
    jars = [str(jar) for pattern in _CLIENT for jar in sorted(_JARS.glob(f"{pattern}.jar"))]
    path = [str(cluster.configuration), *jars, *(str(jar) for jar in class_path("hadoop"))]
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    options += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options += [f"-Dlog4j2.configurationFile={cluster.folder / 'log4j2.properties'}"]
    return [str(find_java(os.environ).executable), *options, "-cp", os.pathsep.join(path)]
