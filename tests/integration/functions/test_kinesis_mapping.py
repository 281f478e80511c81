"""Kinesis mappings on a stand-in of the service: shards, parallel batches, checkpoints, resharding and failures."""

import json
import signal
import time
from typing import Any

import boto3
import pytest

from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.polling import eventually
from tests.integration.functions.runs import FunctionRun


def _source(stream: str, **more: Any) -> dict[str, Any]:
    return {"EventSourceArn": f"arn:aws:kinesis:us-east-1:123456789012:stream/{stream}", **more}


def _put(kinesis: KinesisStandIn, stream: str, values: list[str], keys: int = 5) -> None:
    records = [{"Data": value.encode(), "PartitionKey": f"key {n % keys}"} for n, value in enumerate(values)]
    for start in range(0, len(records), 500):
        answer = kinesis.client().put_records(StreamName=stream, Records=records[start : start + 500])
        assert answer["FailedRecordCount"] == 0


@pytest.fixture
def streaming(function: FunctionRun, kinesis: KinesisStandIn) -> FunctionRun:
    function.environment |= kinesis.environment()
    return function


def test_all_shards_are_read_once_in_order_of_their_keys(kinesis: KinesisStandIn, streaming: FunctionRun) -> None:
    kinesis.create_stream("fn-stream", shards=3)
    values = [f"{number}" for number in range(200)]
    _put(kinesis, "fn-stream", values, keys=40)
    streaming.source(**_source("fn-stream", BatchSize=20, ParallelizationFactor=3))
    streaming.start("--once")
    assert streaming.wait() == 0, streaming.log.read_text()
    done = streaming.done()
    assert sorted(done) == sorted(values)
    for key in range(40):
        mine = [int(value) for value in done if int(value) % 40 == key]
        assert mine == sorted(mine)
    assert len({line["pid"] for line in streaming.lines("begun")}) > 3
    streaming.start("--once")
    assert streaming.wait() == 0, streaming.log.read_text()
    assert len(streaming.done()) == 200, "the checkpoints hold"


def test_a_killed_run_goes_on_at_its_checkpoints(kinesis: KinesisStandIn, streaming: FunctionRun) -> None:
    kinesis.create_stream("fn-kill", shards=1)
    values = [f"{number}" for number in range(50)]
    _put(kinesis, "fn-kill", values)
    streaming.source(**_source("fn-kill", BatchSize=10))
    (streaming.out / "hold").touch()
    streaming.start()
    eventually(lambda: bool(streaming.lines("begun")), "the first batch is in hand")
    streaming.stop(signal.SIGKILL)
    (streaming.out / "hold").unlink()
    assert streaming.done() == []
    streaming.start("--once")
    assert streaming.wait() == 0, streaming.log.read_text()
    assert streaming.done() == values


def test_children_of_a_split_shard_come_after_it(kinesis: KinesisStandIn, streaming: FunctionRun) -> None:
    (shard,) = kinesis.create_stream("fn-split", shards=1)
    client = kinesis.client()
    _put(kinesis, "fn-split", [f"before {number}" for number in range(20)])
    client.split_shard(StreamName="fn-split", ShardToSplit=shard, NewStartingHashKey=str(2**127))
    client.get_waiter("stream_exists").wait(StreamName="fn-split", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    _put(kinesis, "fn-split", [f"after {number}" for number in range(20)])
    streaming.source(**_source("fn-split"))
    streaming.start("--once")
    assert streaming.wait() == 0, streaming.log.read_text()
    done = streaming.done()
    assert len(done) == 40
    assert all(value.startswith("before") for value in done[:20])


def test_latest_begins_when_the_mapping_does(kinesis: KinesisStandIn, streaming: FunctionRun) -> None:
    kinesis.create_stream("fn-latest", shards=1)
    _put(kinesis, "fn-latest", ["old"])
    (old,) = kinesis.records("fn-latest")
    arrived = old["ApproximateArrivalTimestamp"].timestamp()
    eventually(lambda: time.time() > arrived + 0.01, "arrivals are told apart by their time")
    streaming.source(**_source("fn-latest", StartingPosition="LATEST"))
    streaming.start()
    state = streaming.folder / "state"
    eventually(lambda: bool(list(state.glob("*.json"))) if state.exists() else False, "the mapping has begun")
    _put(kinesis, "fn-latest", ["new"])
    eventually(lambda: streaming.done() == ["new"], "the new record is delivered")
    assert streaming.stop() == 0


def test_poison_goes_to_a_queue_and_the_rest_on(kinesis: KinesisStandIn, streaming: FunctionRun) -> None:
    kinesis.create_stream("fn-sick", shards=1)
    _put(kinesis, "fn-sick", ["a", "poison", "b", "c"], keys=1)
    # The stand-in is moto, which has queues too; its accounts are 123456789012.
    streaming.environment |= {"AWS_ENDPOINT_URL_SQS": kinesis.endpoint_url}
    queues: Any = boto3.session.Session().client(
        "sqs", endpoint_url=kinesis.endpoint_url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y"
    )
    url = queues.create_queue(QueueName="fn-sick-failed")["QueueUrl"]
    streaming.document["Handler"] = "recorder.reporting"
    streaming.source(
        **_source("fn-sick", FunctionResponseTypes=["ReportBatchItemFailures"], BisectBatchOnFunctionError=True),
        MaximumRetryAttempts=1,
        DestinationConfig={"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:123456789012:fn-sick-failed"}},
    )
    streaming.start("--once", POISON="poison")
    assert streaming.wait() == 0, streaming.log.read_text()
    (message,) = queues.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    record = json.loads(message["Body"])
    assert record["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert record["KinesisBatchInfo"]["batchSize"] == 1
    assert record["KinesisBatchInfo"]["streamArn"].endswith("stream/fn-sick")
    assert "functionError" not in record["responseContext"]
    assert sorted(set(streaming.done())) == ["a", "b", "c"]
    assert streaming.counts()["DroppedEventCount"] == 1
