"""The lag of a Kafka stream after each batch, as the broker's own tools would tell it."""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_the_lag_is_that_of_the_unread_records_and_their_age(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic = Topic(broker, 2)
    began = time.time()
    topic.send(frame(1, record) for record in records(0, 40))
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


def test_batches_are_limited_in_bytes_from_the_second_one_on(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic = Topic(broker, 2)
    topic.send(frame(1, record) for record in records(0, 300))
    batches: list[BatchMetrics] = []
    text = declaration(topic, lake).replace("decode:", "    maxBytesPerTrigger: 4_000\ndecode:", 1)
    run(
        parse_pipeline(text, environment={}),
        spark,
        RunOptions(registry=Registry(), once=True, on_batch=batches.append),
    )
    size = len(frame(1, {"id": 100, "day": "2013-01-01"})) + len(b"k")
    assert sum(batch.rows for batch in batches) == 300
    # 1 KiB a record is assumed before one was read.
    assert 0 < batches[0].rows <= 4
    full = batches[1:-1]
    assert len(full) >= 2
    for batch in full:
        assert batch.record_bytes is not None
        assert 0.9 * 4_000 <= batch.record_bytes <= 1.1 * 4_000
        assert abs(batch.record_bytes - batch.rows * size) <= batch.rows
