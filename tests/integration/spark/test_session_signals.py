"""Signals that reach Spark's JVM together with the runner, as a service manager sends them."""

import os
import signal
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_sigterm_to_the_whole_group_leaves_the_batch_in_hand_its_jvm(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    os.kill(int(jvm.java.lang.ProcessHandle.current().pid()), signal.SIGTERM)
    assert spark.range(10).count() == 10
