"""The lag of a Kafka stream after each batch, as the broker's own tools would tell it."""

import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.runner import RunOptions, run
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def lake(spark_lake: Path) -> Path:
    """The lake with an empty bucket."""
    for entry in (spark_lake / "lk").iterdir():
        shutil.rmtree(entry)
    return spark_lake


def test_the_lag_is_that_of_the_unread_records_and_their_age(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic = Topic(broker, 2)
    began = time.time()
    topic.send(frame(1, each) for each in records(0, 40))
    batches: list[BatchMetrics] = []
    text = declaration(topic, lake, per_trigger=20)
    run(
        parse_pipeline(text, environment={}),
        spark,
        RunOptions(registry=Registry(), once=True, on_batch=batches.append),
    )
    first, last = batches[0].lag, batches[-1].lag
    assert first["records"] == 20
    parts = first["partitions"][topic.name]
    assert {partition: lag["records"] for partition, lag in parts.items()} == {"0": 10, "1": 10}
    # Each partition's next record was sent since the test began, and its age is counted from Kafka's own timestamp.
    assert all(0 < lag["seconds"] <= time.time() - began + 0.1 for lag in parts.values())
    assert first["seconds"] == max(lag["seconds"] for lag in parts.values())
    assert (last["records"], last["seconds"]) == (0, 0.0)
    assert {lag["records"] for lag in last["partitions"][topic.name].values()} == {0}
