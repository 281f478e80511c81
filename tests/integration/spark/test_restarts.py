"""Spark's JVM is killed under ``penstock run``: one message, a new JVM, every record once."""

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer
from tests.integration.spark.commands import Command, frame_of, register_flights, started
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_PER_BATCH = 20


@dataclass
class Site:
    """A registered schema, a topic and a lake."""

    server: RunningServer
    topic: Topic
    version: UUID
    registry: str
    folder: Path

    def send(self, first: int, count: int) -> None:
        self.topic.send(frame_of(self.version, frame(1, record)) for record in records(first, count))

    def write(self, name: str = "pipeline.yaml", *, retries: int = 1) -> Path:
        text = declaration(self.topic, self.folder, per_trigger=_PER_BATCH, extra=f"batchMaxRetries: {retries}")
        path = self.folder / name
        path.write_text(
            text.replace("registry: tests", f"registry: {self.registry}") + "trigger: {processingTime: 1 second}\n"
        )
        return path

    def arguments(self, pipeline: Path, *more: str) -> list[str]:
        return [
            *("run", str(pipeline), "--master", "local[1]", "--driver-memory", "512m", "--lake", str(self.folder)),
            *("--log", str(self.folder / "spark.log"), "--home", str(self.folder / "home"), *more),
        ]

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in rows(self.folder))


@pytest.fixture
def site(penstock_server: RunningServer, broker: Broker, tmp_path: Path) -> Site:
    registry = f"restarts-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    return Site(penstock_server, Topic(broker), version, registry, tmp_path)


def _kill(command: Command) -> int:
    jvm = command.jvm()
    os.kill(jvm.pid, signal.SIGKILL)
    jvm.wait(30)
    return jvm.pid


def test_a_killed_jvm_is_one_message_and_a_new_jvm(site: Site) -> None:
    site.send(0, 3 * _PER_BATCH)
    environment = site.server.environment()
    metrics = site.folder / "metrics.jsonl"
    with started(site.arguments(site.write(), "--metrics", str(metrics)), environment, site.folder / "first") as command:
        command.wait_for("Batch 1 committed")
        killed = [_kill(command)]
        command.wait_for("Starting it again in", error=True)
        # The batch that was open, and those after it, are committed by the second JVM: the budget of one is there again.
        command.wait_for("Batch 2 committed")
        site.send(3 * _PER_BATCH, _PER_BATCH)
        command.wait_for("Batch 3 committed")
        killed.append(_kill(command))
        command.wait_for("Starting it again in", 2, error=True)
        killed.append(_kill(command))
        # Nothing was committed since the last restart, and one was allowed.
        assert command.process.wait(60) == 3
        said = command.err.splitlines()
        assert len(said) == 3, command.err
        for process, line in zip(killed, said[:2], strict=False):
            assert f"Spark's JVM (process {process}) was killed by signal 9 (SIGKILL)" in line
        # This one was killed while it started.
        assert f"(process {killed[2]}) was killed by signal 9" in said[2] or "Spark did not start" in said[2]
        assert all(f"Its log: {site.folder / 'spark.log'}." in line for line in said)
        assert all("restart 1 of 1" in line for line in said[:2])
        assert "2 died in a row, and no batch was committed between" in said[2]
        assert "Nothing is lost: the next start goes on with the open batch." in said[2]
    assert site.ids() == list(range(4 * _PER_BATCH))
    # A JVM that is killed before Spark's own commit has the ledger's last batch told again, as replayed.
    told = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["batch"] for line in told if line["outcome"] == "committed"] == [0, 1, 2, 3]
    # What cannot go on from here is said without Spark, and before it starts.
    path = site.write()
    path.write_text(path.read_text().replace("partition_by: [day]", "partition_by: [p]"))
    for option in ("--dry-run", "--once"):
        with started(site.arguments(path, option), environment, site.folder / option) as command:
            assert command.process.wait(120) == 2
            [line] = command.err.splitlines()
            assert "pipeline flights cannot go on where it was. partition_by of sink sink was day and is p: " in line
