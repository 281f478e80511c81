"""The Kinesis planner over boto3 against a server that reshards, throttles and pushes: no Spark, as Spark calls it."""

import json
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from penstock.spark.sources.kinesis import fanout
from penstock.spark.sources.kinesis.reader import KinesisReader
from penstock.testing.kinesis_server import KinesisServer

Put = Callable[[int, int], None]


class Query:
    """A query over one stream; ``run`` reads until ``count`` values have come, and returns them in order of batches."""

    def __init__(self, kinesis: KinesisServer, shards: int = 1) -> None:
        self.kinesis, self.stream, self.client = kinesis, f"reader-{uuid4().hex[:8]}", kinesis.client()
        self.shards = kinesis.create_stream(self.stream, shards=shards)
        self.batches: list[dict[str, list[int]]] = []
        self.offset: dict[str, Any] = {}

    def open(self, **options: str) -> None:
        given = {
            "streamName": self.stream,
            "endpointUrl": self.kinesis.endpoint_url,
            "startingPosition": "trim_horizon",
            "describeShardInterval": "0s",
            "retryIntervalMs": "100",
        }
        self.reader = KinesisReader({**given, **options})
        if self.offset:
            self.reader.partitions(self.offset, self.offset)
        else:
            self.offset = self.reader.initialOffset()

    def put(self, first: int, last: int) -> None:
        """Put values, each with a key of its own."""
        for number in range(first, last, 500):
            entries = [{"Data": str(n).encode(), "PartitionKey": f"key {n}"} for n in range(number, min(last, number + 500))]
            assert self.client.put_records(StreamName=self.stream, Records=entries)["FailedRecordCount"] == 0

    def run(self, count: int) -> list[int]:
        results: list[int] = []
        deadline = time.monotonic() + 30
        while len(results) < count and time.monotonic() < deadline:
            end = json.loads(json.dumps(self.reader.latestOffset()))
            executor = pickle.loads(pickle.dumps(self.reader))
            batch: dict[str, list[int]] = {}
            for part in self.reader.partitions(self.offset, end):
                for rows in executor.read(part):
                    batch.setdefault(part.value["shard"], []).extend(int(value) for value in rows.column("data").to_pylist())
            self.reader.commit(end)
            self.offset = end
            self.batches += [batch] if batch else []
            results += [value for values in batch.values() for value in values]
        return results

    def batch_of(self, shard: str) -> list[int]:
        return [number for number, batch in enumerate(self.batches) if shard in batch]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def query(kinesis_server: KinesisServer) -> Iterator[Query]:
    made = Query(kinesis_server, shards=2)
    yield made
    made.reader.stop()
    kinesis_server.subscriptions()


@pytest.mark.parametrize("options", [{}, {"fanoutConsumerName": "c"}], ids=["polling", "fan-out"])
def test_splits_and_merges_while_it_runs(query: Query, options: dict[str, str]) -> None:
    query.put(0, 300)
    query.open(**options)
    first = query.run(300)
    query.put(300, 400)
    left, right = query.kinesis.split(query.stream, query.shards[0])
    query.put(400, 600)
    query.client.merge_shards(StreamName=query.stream, ShardToMerge=right, AdjacentShardToMerge=query.shards[1])
    query.put(600, 800)
    assert sorted(first + query.run(500)) == list(range(800))
    merged = next(shard["ShardId"] for shard in query.client.list_shards(StreamName=query.stream)["Shards"][-1:])
    # Children are in later batches than the last of their parents, also where they were there from the start.
    assert max(query.batch_of(query.shards[0])) < min(query.batch_of(left) + query.batch_of(right))
    assert max(query.batch_of(right) + query.batch_of(query.shards[1])) < min(query.batch_of(merged))
    counts = query.kinesis.counts(query.stream)
    way, other = ("pushed", "served") if options else ("served", "pushed")
    assert (sum(counts[way].values()), sum(counts[other].values())) == (800, 0)
    position = query.offset[merged]
    assert (position["behindMs"], query.offset[query.shards[0]]["ended"]) == (0, True)


def test_subscriptions_are_renewed_after_breaks_and_before_their_end(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "_SUBSCRIPTION_SECONDS", 0.5)
    query.kinesis.subscriptions(seconds=60, takeover=0.3)
    before = query.kinesis.counts(query.stream)["calls"].get("SubscribeToShard", 0)
    query.open(fanoutConsumerName="c", numRetries="20")
    sent = 0
    for round_ in range(4):
        query.put(sent, sent + 50)
        sent += 50
        if round_ == 1:
            query.kinesis.fail("SubscribeToShardEvent", "broken", 2)
        if round_ == 2:
            query.kinesis.fail("SubscribeToShard", "LimitExceededException", 2)
        query.run(50)
        time.sleep(0.6)  # past the time of a subscription
    values = [value for batch in query.batches for item in batch.values() for value in item]
    assert sorted(values) == list(range(200))
    renewed = query.kinesis.counts(query.stream)["calls"]["SubscribeToShard"] - before
    assert renewed >= 2 * 4, "two shards, of which each was subscribed to in every round"
    # The server ends subscriptions, too, and a new process continues behind the last record.
    query.reader.stop()
    query.kinesis.subscriptions(seconds=0.5, takeover=0.1)
    query.put(200, 250)
    query.open(fanoutConsumerName="c", numRetries="20")
    assert sorted(query.run(50)) == list(range(200, 250))


def test_throttled_reads_are_slowed_down_and_lose_nothing(query: Query) -> None:
    query.put(0, 3000)
    # AWS allows five reads a second, by all consumers of the shard: here two, and lists fail as well.
    query.kinesis.limit(query.stream, reads=2)
    query.kinesis.fail("ListShards", "LimitExceededException", 2)
    query.open(maxRecordPerRead="500", numRetries="10", maxRetryIntervalMs="500")
    assert sorted(query.run(3000)) == list(range(3000))
    counts = query.kinesis.counts(query.stream)
    assert sum(counts["served"].values()) == 3000
    assert counts["calls"]["GetRecords"] > 6, "some were throttled"


def test_a_given_consumer_and_its_absence(query: Query, kinesis_server: KinesisServer) -> None:
    client = query.client
    arn = client.describe_stream_summary(StreamName=query.stream)["StreamDescriptionSummary"]["StreamARN"]
    made = client.register_stream_consumer(StreamARN=arn, ConsumerName="given")["Consumer"]["ConsumerARN"]
    query.put(0, 10)
    query.open(fanoutConsumerARN=made)
    assert sorted(query.run(10)) == list(range(10))
    query.reader.stop()
    query.offset = {}
    query.open(fanoutConsumerARN=f"{arn}/consumer/none:1")
    with pytest.raises(Exception, match=r"Consumer .*none:1 not found"):
        query.run(1)
