"""A pipeline on a standalone cluster whose Python has no Penstock: a worker dies in the middle of a batch."""

from pathlib import Path
from uuid import uuid4

import pytest

from penstock.local.broker import Broker
from penstock.retries import wait_until
from penstock.testing.server import RunningServer
from tests.integration.spark.cluster import python_of_executors, standalone_cluster
from tests.integration.spark.commands import frame_of, register_flights, started
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_PER_BATCH = 120
_BATCHES = 3
# 5 ms a record, so that there is a middle of a batch.
_SLOW = """transform:
  sql: "SELECT *, _partition AS p, _offset AS o, java_method('java.lang.Thread', 'sleep', 5L) AS slept FROM records"
"""


def test_a_lost_worker_in_the_middle_of_a_batch_loses_and_doubles_nothing(
    penstock_server: RunningServer, broker: Broker, tmp_path: Path
) -> None:
    registry = f"cluster-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    topic = Topic(broker)
    # Every eighth record is compressed: those are inflated by Python on the executors.
    topic.send(
        frame_of(version, frame(1, record, compress=record["id"] % 8 == 0)) for record in records(0, _PER_BATCH * _BATCHES)
    )
    text = declaration(topic, tmp_path, per_trigger=_PER_BATCH, transform=_SLOW)
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(text.replace("registry: tests", f"registry: {registry}"))
    python = python_of_executors(tmp_path)
    with standalone_cluster(tmp_path / "cluster", workers=2, environment={"PYTHONPATH": python["PYTHONPATH"]}) as cluster:
        arguments = [
            *("run", str(pipeline), "--once", "--master", cluster.url, "--driver-memory", "512m", "--lake", str(tmp_path)),
            *("--home", str(tmp_path / "home"), "--log", str(tmp_path / "spark.log")),
            *("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"),
            *("--conf", f"spark.executorEnv.PYTHONPATH={python['PYTHONPATH']}"),
        ]
        environment = {**penstock_server.environment(), "PYSPARK_PYTHON": python["PYSPARK_PYTHON"]}
        with started(arguments, environment, tmp_path / "output") as command:
            command.wait_for("Batch 0 committed")
            staging = tmp_path / "lk" / "flights" / "_penstock" / "flights" / "staging" / "0000000001"
            assert wait_until(lambda: list(staging.rglob("*.parquet")), seconds=240), command.err
            assert len(cluster.executors()) == 2
            cluster.kill_worker(0)
            assert not command.lines("Batch 1 committed")
            assert command.process.wait(180) == 0, command.err
            assert f"is done: {_BATCHES} batches, {_PER_BATCH * _BATCHES} rows, 0 dead letters." in command.out
            assert command.err == ""
            assert "Lost executor" in (tmp_path / "spark.log").read_text()
    assert sorted(row["id"] for row in rows(tmp_path)) == list(range(_PER_BATCH * _BATCHES))
    assert rows(tmp_path, "dead") == []
