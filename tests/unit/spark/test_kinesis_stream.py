"""A declared Kinesis source: its options for Spark, and what the runner learns from a batch's positions."""

import json

from penstock.lake.ledger import Batch
from penstock.pipelines import KinesisSource
from penstock.spark.sources.kinesis.options import plain_options
from penstock.spark.sources.kinesis.stream import IteratorAge, KinesisStream, source_options
from penstock.spark.sources.port import lag_summary

ARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"

START = {"shardId-1": {"after": "5"}, "shardId-2": {"after": "9"}, "shardId-3": {"after": "4"}}
END = {
    "shardId-1": {"after": "8", "behindMs": 1500, "records": 3},
    "shardId-2": {"after": "9", "behindMs": 0, "records": 7},
    "shardId-4": {"after": "2", "behindMs": 0, "records": 2, "since": {"from": "TRIM_HORIZON"}},
}
BATCH = Batch(3, json.dumps(START), json.dumps(END))


def test_settings_become_glues_options() -> None:
    declared = KinesisSource(
        stream=ARN, consumer=f"{ARN}/consumer/c", max_records_per_shard=7, num_retries=0, role="arn:aws:iam::1:role/r"
    )
    results = source_options(declared)
    assert results["streamARN"] == ARN
    assert results["failOnDataLoss"] == "true"
    read = plain_options(results)
    assert (read.stream.name, read.stream.role_arn, read.reading.fetch_records) == ("clicks", "arn:aws:iam::1:role/r", 7)
    assert (read.consumer_arn, read.start, read.reading.retries) == (f"{ARN}/consumer/c", "TRIM_HORIZON", 0)
    named = plain_options(source_options(KinesisSource(stream="clicks", consumer="c"), starting=json.dumps(START)))
    assert (named.stream.name, named.consumer_name, named.offsets) == ("clicks", "c", START)


def test_counts_lag_and_losses_are_those_of_shards_with_records() -> None:
    stream = KinesisStream(KinesisSource(stream="clicks", fail_on_data_loss=False))
    assert stream.count(BATCH) == 5
    lag = lag_summary(IteratorAge("clicks").measure(BATCH.end))
    assert (lag["records"], lag["seconds"]) == (0, 1.5)
    assert lag["partitions"]["clicks"]["shardId-1"] == {"records": None, "seconds": 1.5}
    assert stream.lost(BATCH, 4) == [
        "shard shardId-3 of stream clicks expired before it was read to its end",
        "1 records expired before they were read again",
    ]
    assert KinesisStream(KinesisSource(stream="clicks")).lost(BATCH, 4) == []
    assert stream.count(Batch(0, "{}", json.dumps({"shardId-1": {"at": 12}}))) == 0
