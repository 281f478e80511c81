"""A pipeline whose table, dead letters, ledger and checkpoint are in HDFS: a real NameNode and DataNode."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from penstock.local.broker import Broker
from penstock.spark.hadoop import HadoopFiles
from penstock.testing.server import RunningServer
from tests.integration.spark.commands import frame_of, register_flights, started
from tests.integration.spark.hadoop import HadoopCluster, hadoop_cluster
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_PER_BATCH = 30
_BATCHES = 2


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    with hadoop_cluster(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


def test_a_killed_run_goes_on_and_each_record_is_there_once(
    hdfs: HadoopCluster, penstock_server: RunningServer, broker: Broker, tmp_path: Path
) -> None:
    registry = f"hdfs-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    topic = Topic(broker)
    count = _PER_BATCH * _BATCHES
    topic.send(frame_of(version, frame(1, record)) for record in records(0, count))
    topic.send([b"damaged"])
    text = declaration(topic, tmp_path, per_trigger=_PER_BATCH).replace("registry: tests", f"registry: {registry}")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(text.replace("s3://lk/", f"{hdfs.uri}/lake/"))
    arguments = [
        *("run", str(pipeline), "--once", "--master", "local[1]", "--driver-memory", "512m"),
        *("--home", str(tmp_path / "home"), "--log", str(tmp_path / "spark.log")),
    ]
    environment = {**penstock_server.environment(), **hdfs.environment()}
    with started(arguments, {**environment, "PENSTOCK_FAILPOINT": "mid-publish:1"}, tmp_path / "killed") as command:
        assert command.process.wait(240) == -signal.SIGKILL, command.err
        assert command.lines("Batch 0 committed")
    with started(arguments, environment, tmp_path / "again") as command:
        assert command.process.wait(240) == 0, command.err
        assert "1 dead letters." in command.out
    hdfs.copy("/lake", tmp_path / "copy")
    assert sorted(row["id"] for row in rows(tmp_path, bucket="copy")) == list(range(count))
    assert [row["value"] for row in rows(tmp_path, "dead", bucket="copy")] == [b"damaged"]
    # The modes are those of the cluster's umask, so that its other engines can read the table.
    assert {mode for path, mode in hdfs.files("/lake/flights").items() if "_penstock" not in path} == {"755", "644"}


def test_a_file_that_is_replaced_is_never_missing(hdfs: HadoopCluster, spark: SparkSession) -> None:
    files, folder = HadoopFiles(spark), f"{hdfs.uri}/replaced"
    files.write(f"{folder}/file", b"0")
    with ThreadPoolExecutor(1) as other:
        done = threading.Event()
        missing = other.submit(lambda: [1 for _ in iter(done.is_set, True) if not hdfs.exists("/replaced/file")])
        for number in range(1, 12):
            files.write(f"{folder}/file", b"%d" % number)
        done.set()
        assert missing.result() == []
    assert files.read(f"{folder}/file") == b"11"
    with pytest.raises(FileNotFoundError):
        files.move(f"{folder}/missing", f"{folder}/file")
    assert files.names(folder) == ["file"]
