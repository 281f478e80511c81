"""Several sinks of one stream: rows staged once, each sink's own query, accounts, and a replay."""

from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from penstock.errors import InvalidInput
from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SINKS = """
sinks:
  all: {parquet: {location: s3://lk/flights, partition_by: [day]}}
  few: {parquet: {location: s3://lk/few, sql: "SELECT id, o FROM rows WHERE id % 10 = 0"}}
"""


def two_sinks(topic: Topic, lake: Path, sinks: str = SINKS) -> str:
    """The tests' pipeline with two sinks instead of one."""
    text = declaration(topic, lake)
    first, last = text.index("sink:\n"), text.index("dead_letters:")
    return text[:first] + sinks + text[last:]


def test_two_sinks_get_the_rows_of_one_read(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic, registry = Topic(broker), Registry()
    batches: list[BatchMetrics] = []
    options = RunOptions(registry=registry, once=True, on_batch=batches.append)
    pipeline = parse_pipeline(two_sinks(topic, lake), environment={})
    topic.send([*(frame(1, record) for record in records(0, 200)), b"damaged"])
    report = run(pipeline, spark, options)
    topic.send(frame(2, {**record, "seats": 1}) for record in records(200, 100))
    run(pipeline, spark, options)
    assert report.read == 402, "once for the rows, once for the dead letter"
    assert sorted(row["id"] for row in rows(lake)) == list(range(300))
    assert sorted(row["id"] for row in rows(lake, "few")) == list(range(0, 300, 10))
    assert set(rows(lake, "few")[0]) == {"id", "o"}
    assert not list((lake / "lk" / "flights" / "_penstock" / "flights" / "rows").rglob("*.parquet"))

    folder = lake / "lk" / "flights_accounts"
    accounts = sorted(
        ds.dataset(folder, partitioning="hive").to_table().to_pylist(), key=lambda row: (row["batch_id"], row["sink"])
    )
    assert [(row["batch_id"], row["sink"], row["consumed"], row["received"], row["written"]) for row in accounts] == [
        (0, "all", 201, 200, 200),
        (0, "few", 201, 20, 20),
        (1, "all", 100, 100, 100),
        (1, "few", 100, 10, 10),
    ]
    for row in accounts:
        assert row["consumed"] == row["transformed"] + row["quarantined"] + row["tombstones"]
    assert dict(accounts[0]["reasons"]) == {"SHORT_FRAME": 1}
    assert dict(accounts[2]["versions"]) == {"2": 100}


def test_a_batch_that_spark_replays_changes_no_sink(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic, registry = Topic(broker), Registry()
    batches: list[BatchMetrics] = []
    options = RunOptions(registry=registry, once=True, on_batch=batches.append)
    pipeline = parse_pipeline(two_sinks(topic, lake), environment={})
    topic.send(frame(1, record) for record in records(0, 50))
    run(pipeline, spark, options)
    (lake / "lk" / "checkpoint" / "commits" / "0").unlink()
    run(pipeline, spark, options)
    assert len(batches) == 2
    assert sorted(row["id"] for row in rows(lake)) == list(range(50))
    assert len(rows(lake, "few")) == 5


def test_a_sink_that_partitions_by_a_column_its_query_lacks_is_refused(
    spark: SparkSession, lake: Path, broker: Broker
) -> None:
    topic = Topic(broker)
    sinks = SINKS.replace("s3://lk/few,", "s3://lk/few, partition_by: [day],")
    topic.send(frame(1, record) for record in records(0, 3))
    with pytest.raises(InvalidInput, match="no column 'day' to partition by; the columns are id, o"):
        run(parse_pipeline(two_sinks(topic, lake, sinks), environment={}), spark, RunOptions(registry=Registry(), once=True))
    assert rows(lake) == []
