"""Expectations, deduplication and late rows in a running stream: dead letters, state across batches, accounts."""

from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.dead_letter_table import LetterTable
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from penstock.spark.transform.expectations import ExpectationStop
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TRANSFORM = """
transform:
  steps:
    once: {deduplicate: {keys: [id], time: "_timestamp", watermark: 1 hour}}
  expect:
    small: {rows: "id < 1000", on_failure: quarantine}
    few: {batch: "count(*) < 10000", on_failure: fail}
    known_day: {rows: "day <> '2013-01-02'", on_failure: warn}
"""


def test_rows_are_quarantined_and_repeats_are_dropped_across_batches(
    spark: SparkSession, lake: Path, broker: Broker
) -> None:
    topic, registry = Topic(broker), Registry()
    batches: list[BatchMetrics] = []
    options = RunOptions(registry=registry, once=True, on_batch=batches.append)
    text = declaration(topic, lake, transform=TRANSFORM, extra="batchMaxRetries: 0")
    pipeline = parse_pipeline(text, environment={})
    topic.send([*(frame(1, record) for record in [*records(0, 30), *records(0, 10), *records(1000, 3)]), b"damaged"])
    run(pipeline, spark, options)
    topic.send(frame(2, {**record, "seats": 1}) for record in records(20, 30))
    run(pipeline, spark, options)
    # Spark replays the last batch: its state is that of before.
    (lake / "lk" / "checkpoint" / "commits" / "1").unlink()
    run(pipeline, spark, options)

    assert sorted(row["id"] for row in rows(lake)) == list(range(50))
    letters = {group.reason: group.letters for group in LetterTable("s3://lk/dead", lake).groups()}
    assert letters == {"SHORT_FRAME": 1, "EXPECTATION": 3}
    [letter, *_] = LetterTable("s3://lk/dead", lake).letters(reasons=["EXPECTATION"], count=5)
    assert letter["message"] == "The row fails the expectation small."
    assert letter["value"].startswith(b"\x03\x00")
    accounts = ds.dataset(lake / "lk" / "flights_accounts", partitioning="hive").to_table().to_pylist()
    by_batch = {row["batch_id"]: row for row in accounts}
    assert [(by_batch[n]["consumed"], by_batch[n]["quarantined"], by_batch[n]["written"]) for n in (0, 1)] == [
        (44, 4, 30),
        (30, 0, 20),
    ]
    assert dict(by_batch[0]["expectations"])["small"] == 3
    assert any("known_day" in warning for warning in batches[0].warnings)
    assert len(list((lake / "lk" / "flights" / "_penstock" / "flights" / "state").iterdir())) == 1


def test_an_expectation_that_fails_the_batch_commits_nothing(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic = Topic(broker)
    text = declaration(topic, lake, transform=TRANSFORM.replace("< 10000", "< 5"), extra="batchMaxRetries: 3")
    topic.send(frame(1, record) for record in records(0, 30))
    with pytest.raises(ExpectationStop, match="expectation few failed"):
        run(parse_pipeline(text, environment={}), spark, RunOptions(registry=Registry(), once=True))
    assert rows(lake) == []
    assert rows(lake, "dead") == []


def test_a_pass_that_could_not_inflate_says_nothing_about_the_batch(spark: SparkSession, lake: Path, broker: Broker) -> None:
    topic = Topic(broker)
    topic.send(frame(1, record, compress=True) for record in records(0, 5))
    expected = "transform: {expect: {some: {batch: count(*) >= 5, on_failure: fail}}}"
    text = declaration(topic, lake, transform=expected, extra="batchMaxRetries: 0")
    report = run(parse_pipeline(text, environment={}), spark, RunOptions(registry=Registry(), once=True))
    assert (report.rows, report.dead) == (5, 0)
