"""A driver in a process of its own, for the kill tests.

``python -m tests.integration.spark.driver PIPELINE.yaml LAKE LOG METRICS [NOTES]``.
With NOTES the lake is on a disk that forgets (:mod:`penstock.testing.powerloss`).
"""

import os
import sys
from pathlib import Path

from penstock.cli.platform.fetch import spark_archive
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.pipelines import read_pipeline
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.running.runner import RunOptions, run
from penstock.testing.powerloss import ForgetfulDisk
from tests.integration.spark.stream import Registry

pipeline, lake, log, metrics = map(Path, sys.argv[1:5])
if len(sys.argv) > 5:
    ForgetfulDisk(lake, Path(sys.argv[5])).install()
options = RunOptions(
    master="local[2]",
    jars=class_path("spark"),
    lake=lake,
    log=log,
    metrics=metrics,
    once=True,
    registry=Registry(),
    driver_memory="512m",
    archive=spark_archive(find_java(os.environ).home),
    failpoint=Failpoint.from_environment(os.environ),
)
print(run(read_pipeline(pipeline), options=options))
