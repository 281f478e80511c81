"""Spark's JVM is killed under ``penstock run``: one message, a new JVM, every record once."""

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

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

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
        self.topic.send(frame_of(self.version, frame(1, each)) for each in records(first, count))

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
        site.send(4 * _PER_BATCH, _PER_BATCH)
        command.wait_for("Batch 4 committed")
        assert command.stop() == 0, command.err
        said = command.err.splitlines()
        assert said[-1] == "penstock: stopping after the current batch."
        assert len(said) == 3, command.err
        for process, line in zip(killed, said, strict=False):
            assert f"Spark's JVM (process {process}) was killed by signal 9 (SIGKILL)" in line
            assert f"Its log: {site.folder / 'spark.log'}." in line
            assert "restart 1 of 1" in line
        assert "was stopped: 5 batches, 100 rows, 0 dead letters." in command.out
    assert site.ids() == list(range(5 * _PER_BATCH))
    assert len(metrics.read_text().splitlines()) >= 5


def test_the_budget_ends_the_run_with_the_documented_status(site: Site) -> None:
    with started(site.arguments(site.write(retries=0)), site.server.environment(), site.folder / "none") as command:
        command.wait_for("Pipeline flights runs")
        _kill(command)
        assert command.process.wait(60) == 3
        [line] = command.err.splitlines()
        assert line.startswith("penstock: Spark's JVM (process ")
        assert "no restart is allowed" in line
        assert "Nothing is lost: the next start goes on with the open batch." in line
