"""A pipeline on YARN, its lake in HDFS: a real ResourceManager and NodeManager, and containers that are killed."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyspark
import pytest

from penstock.local.broker import Broker
from penstock.retries import wait_until
from penstock.testing.server import RunningServer
from tests.integration.spark.cluster import python_of_executors
from tests.integration.spark.commands import frame_of, register_flights, started
from tests.integration.spark.hadoop import HadoopCluster, hadoop_cluster
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_PER_BATCH = 120
_BATCHES = 3
_COUNT = _PER_BATCH * _BATCHES
# 5 ms a record, so that there is a middle of a batch.
_SLOW = """transform:
  sql: "SELECT *, _partition AS p, _offset AS o, java_method('java.lang.Thread', 'sleep', 5L) AS slept FROM records"
"""
_JARS = Path(pyspark.__file__).parent / "jars"


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    with hadoop_cluster(tmp_path_factory.mktemp("yarn"), yarn=True) as running:
        yield running


@dataclass
class Flights:
    """A pipeline of :data:`_COUNT` records, with a folder of HDFS of its own, and what runs it."""

    yarn: HadoopCluster
    folder: Path
    environment: dict[str, str]
    secrets: dict[str, str]
    python: dict[str, str]

    @property
    def lake(self) -> str:
        return f"/{self.folder.name}"

    def settings(self) -> list[str]:
        """Return the options of small containers, whose Spark is the one of this machine, and of an event log."""
        settings = {
            "spark.yarn.jars": f"local:{_JARS}/*",
            "spark.executor.instances": "1",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "128m",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": self.folder.as_uri(),
            "spark.driver.host": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": self.python["PYTHONPATH"],
        }
        return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]

    def submit(self) -> list[str]:
        """Return the command that submits the pipeline, whose driver has no variable of this process."""
        server = {name: value for name, value in self.environment.items() if name.startswith(("AWS_", "PENSTOCK_"))}
        secrets = self.folder / "secrets.conf"
        secrets.touch(mode=0o600)
        names = {f"spark.penstock.driverEnv.{name}": value for name, value in self.secrets.items()}
        names |= {f"spark.yarn.appMasterEnv.{name}": server[name] for name in server.keys() - self.secrets.keys()}
        names["spark.yarn.appMasterEnv.PYSPARK_PYTHON"] = self.python["PYSPARK_PYTHON"]
        secrets.write_text("".join(f"{name}={value}\n" for name, value in names.items()))
        return [
            *("submit", str(self.folder / "pipeline.yaml"), "--master", "yarn", "--once"),
            *("--artefacts", str(self.folder / "artefacts"), "--conf", "spark.driver.memory=512m", *self.settings()),
            *("--conf", f"@{secrets}"),
        ]

    def staged(self, batch: int) -> bool:
        """Return whether a batch's files are being written."""
        return any(f"/staging/{batch:010}/" in path for path in self.yarn.files(f"{self.lake}"))

    def check(self) -> None:
        """Each record is in the table once."""
        self.yarn.copy(self.lake, self.folder / "copy")
        assert sorted(row["id"] for row in rows(self.folder, bucket="copy")) == list(range(_COUNT))


@pytest.fixture
def flights(yarn: HadoopCluster, penstock_server: RunningServer, broker: Broker, tmp_path: Path) -> Flights:
    registry = f"yarn-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    topic = Topic(broker)
    # Every eighth record is compressed: those are inflated by Python on the executors.
    topic.send(frame_of(version, frame(1, record, compress=record["id"] % 8 == 0)) for record in records(0, _COUNT))
    text = declaration(topic, tmp_path, per_trigger=_PER_BATCH, transform=_SLOW).replace(
        "registry: tests", f"registry: {registry}"
    )
    (tmp_path / "pipeline.yaml").write_text(text.replace("s3://lk/", f"{yarn.uri}/{tmp_path.name}/"))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(pipeline.read_text().replace(f"password: {broker.password}", "password: ${BROKER_PASSWORD}"))
    server = penstock_server.environment()
    secrets = {"BROKER_PASSWORD": broker.password, "AWS_SECRET_ACCESS_KEY": server["AWS_SECRET_ACCESS_KEY"]}
    return Flights(yarn, tmp_path, {**server, **yarn.environment(), **secrets}, secrets, python_of_executors(tmp_path))


def test_an_executors_container_dies_in_the_middle_of_a_batch(flights: Flights) -> None:
    arguments = [
        *("run", str(flights.folder / "pipeline.yaml"), "--once", "--master", "yarn", "--driver-memory", "512m"),
        *("--home", str(flights.folder / "home"), "--log", str(flights.folder / "spark.log"), *flights.settings()),
    ]
    environment = {**flights.environment, "PYSPARK_PYTHON": flights.python["PYSPARK_PYTHON"]}
    with started(arguments, environment, flights.folder / "output") as command:
        command.wait_for("Batch 0 committed")
        assert wait_until(lambda: flights.staged(1), seconds=240), command.err
        [executor] = flights.yarn.containers("YarnCoarseGrainedExecutorBackend")
        executor.kill()
        assert not command.lines("Batch 1 committed")
        assert command.process.wait(240) == 0, command.err
        assert f"is done: {_BATCHES} batches, {_COUNT} rows, 0 dead letters." in command.out
        assert command.err == ""
    flights.check()


def test_a_killed_application_master_is_started_again_and_no_secret_is_shown(flights: Flights) -> None:
    with started(flights.submit(), flights.environment, flights.folder / "output") as command:
        assert wait_until(lambda: flights.staged(1) or command.process.poll() is not None, seconds=240), command.err[-3000:]
        [master] = flights.yarn.containers("deploy.yarn.ApplicationMaster")
        lines = b"".join(_command_lines())
        master.kill()
        assert command.process.wait(240) == 0, command.err[-3000:] + flights.yarn.logs()[-3000:]
    flights.check()
    events = b"".join(path.read_bytes() for path in flights.folder.rglob("*application_*") if path.is_file())
    scripts = b"".join(path.read_bytes() for path in flights.yarn.launch_scripts())
    assert b"CoarseGrainedExecutorBackend" in lines
    assert b"spark.penstock.driverEnv.BROKER_PASSWORD" in events
    assert b"penstock_driver" in scripts
    for secret in flights.secrets.values():
        assert secret.encode() not in lines + events + scripts


def _command_lines() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            yield file.read_bytes()
