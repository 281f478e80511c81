"""``penstock run DIRECTORY``: several pipelines in one Spark, their metrics, a failure, a dead JVM, a stop."""

import os
import re
import signal
import urllib.request
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer
from tests.integration.spark.commands import Command, frame_of, register_flights, started
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_COUNT = 40


def _samples(command: Command) -> dict[str, float]:
    """The metrics by name with labels."""
    [line] = command.lines("Metrics: http://")
    with urllib.request.urlopen(line.partition(" ")[2], timeout=120) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", text, re.MULTILINE)}


def test_pipelines_of_a_folder_share_a_spark_and_nothing_else(
    penstock_server: RunningServer, broker: Broker, tmp_path: Path
) -> None:
    registry = f"folder-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    topics = [Topic(broker) for _ in range(3)]
    for topic in topics:
        topic.send(frame_of(version, frame(1, record)) for record in records(0, _COUNT))
    # The third one fails at its first batch: a division by zero.
    topics[2].send([frame_of(version, frame(1, {"id": 0, "day": "d"}))])
    folder = tmp_path / "pipelines"
    folder.mkdir()
    for number, topic in enumerate(topics):
        divided = 'transform: {sql: "SELECT *, 1 / id AS inverse FROM records"}' if number == 2 else ""
        text = declaration(topic, tmp_path, per_trigger=20, transform=divided, extra="trigger: {processingTime: 1 second}")
        text = text.replace("name: flights\n", f"name: flights-{number}\n").replace("s3://lk/", f"s3://lk/{number}/")
        (folder / f"{number}.yaml").write_text(text.replace("registry: tests", f"registry: {registry}"))
    arguments = [
        *("run", str(folder), "--master", "local[2]", "--driver-memory", "768m", "--lake", str(tmp_path)),
        *("--home", str(tmp_path / "home"), "--log", str(tmp_path / "spark.log"), "--metrics-port", "0"),
    ]
    with started(arguments, penstock_server.environment(), tmp_path / "output") as command:
        for number in (0, 1):
            command.wait_for(f"flights-{number}: Batch 1 committed")
        command.wait_for("pipeline flights-2 failed", error=True)
        assert len([child for child in psutil.Process(command.process.pid).children() if child.name() == "java"]) == 1
        samples = _samples(command)
        for number in (0, 1):
            assert samples[f'penstock_pipeline_records_total{{pipeline="flights-{number}"}}'] == _COUNT
            assert samples[f'penstock_pipeline_up{{pipeline="flights-{number}"}}'] == 1
            lag = f'penstock_pipeline_lag_records{{partition="0",pipeline="flights-{number}",topic="{topics[number].name}"}}'
            assert samples[lag] == 0
        assert samples['penstock_pipeline_up{pipeline="flights-2"}'] == 0
        os.kill(command.jvm().pid, signal.SIGKILL)
        command.wait_for("Starting it again in", error=True)
        for topic in topics[:2]:
            topic.send(frame_of(version, frame(1, record)) for record in records(_COUNT, 20))
        for number in (0, 1):
            command.wait_for(f"flights-{number}: Batch 2 committed")
        assert _samples(command)["penstock_pipeline_jvm_restarts_total"] == 1
        assert command.stop() == 4, command.err
        assert command.lines("3 pipelines: 2 done or stopped, 1 failed.")
        assert command.lines("Pipeline flights-0 was stopped: 3 batches, 60 rows, 0 dead letters.")
        assert command.err.count("\n") == 3, command.err
        assert "Traceback" not in command.err
    for number in (0, 1):
        assert sorted(row["id"] for row in rows(tmp_path, f"{number}/flights")) == list(range(60))
    assert rows(tmp_path, "2/flights") == []
