"""The artefacts of ``penstock submit`` in a driver that has no Penstock: spark-submit and the base interpreter.

YARN and Kubernetes unpack the archive into the driver's working folder; here the test does, and Spark's master is local.
"""

import os
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from uuid import uuid4

import pyspark
import pytest

from penstock.local.broker import Broker
from penstock.local.java import find_java
from penstock.testing.server import RunningServer
from tests.integration.spark.commands import frame_of, register_flights
from tests.integration.spark.stream import Topic, declaration, frame, records, rows

pytestmark = pytest.mark.spark

_COUNT = 40


def test_a_driver_with_the_archive_alone_runs_the_pipeline(
    penstock_server: RunningServer, broker: Broker, tmp_path: Path
) -> None:
    registry = f"bundle-{uuid4().hex[:8]}"
    [version] = register_flights(penstock_server, registry)
    topic = Topic(broker)
    topic.send(frame_of(version, frame(1, record)) for record in records(0, _COUNT))
    text = declaration(topic, tmp_path).replace("registry: tests", f"registry: {registry}")
    (tmp_path / "pipeline.yaml").write_text(text.replace("s3://lk/", f"{tmp_path}/lk/"))
    submit = [
        *("submit", "pipeline.yaml", "--master", "yarn", "--artefacts", "artefacts", "--once", "--print"),
        *("--conf", "spark.driver.memory=512m"),
    ]
    made = subprocess.run(
        [sys.executable, "-m", "penstock", *submit], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert made.returncode == 0, made.stderr
    command = shlex.split(made.stdout)
    assert command[:5] == ["spark-submit", "--master", "yarn", "--deploy-mode", "cluster"]
    archive, _, folder = command[command.index("--archives") + 1].partition("#")
    driver = tmp_path / "driver"
    with tarfile.open(archive) as opened:
        opened.extractall(driver / folder, filter="data")
    # What the cluster does itself: its master and mode, and the archive.
    here = [*command[5 : command.index("--archives")], *command[command.index("--archives") + 2 :]]
    home = Path(pyspark.__file__).parent
    environment = {
        **penstock_server.environment(),
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": os.path.realpath(sys.executable),
    }
    done = subprocess.run(
        [str(home / "bin" / "spark-submit"), "--master", "local[1]", *here],
        cwd=driver,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"Pipeline flights: 1 batches, {_COUNT} rows, 0 dead letters." in done.stdout
    assert sorted(row["id"] for row in rows(tmp_path)) == list(range(_COUNT))
