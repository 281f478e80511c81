"""The Kinesis reader's offsets and ranges, against a stream that behaves as AWS describes it, shards that close included.

The stand-in of the integration tests never says that a closed shard has ended.
"""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.errors import AccessDenied, DataProblem, PenstockError
from penstock.spark.glue.kinesis.options import KinesisOptions, from_text, kinesis_options, to_text
from penstock.spark.glue.kinesis.shards import Position, records_between
from penstock.spark.glue.kinesis.stream import KinesisReader
from penstock.spark.glue.options import Options

META = boto3.session.Session().client("kinesis", region_name="us-east-1").meta
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Stream:
    """Shards by name: parents, sequence numbers, whether closed. Answers ``faults`` first, error codes."""

    meta = META

    def __init__(self, **shards: dict[str, Any]) -> None:
        self.shards = shards
        self.faults: list[str] = []
        self.oldest = 0

    def _token(self, name: str, at: int) -> str:
        return base64.b64encode(json.dumps([name, at, self.oldest]).encode()).decode()

    def list_shards(self, **_request: Any) -> Any:
        listed = []
        for name, shard in self.shards.items():
            ending = {"EndingSequenceNumber": "999"} if shard.get("closed") else {}
            parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), shard.get("parents", ()), strict=False))
            listed.append({"ShardId": name, "SequenceNumberRange": {"StartingSequenceNumber": "0", **ending}, **parents})
        return {"Shards": listed}

    def get_shard_iterator(self, *, ShardId: str, ShardIteratorType: str, **how: Any) -> Any:  # noqa: N803
        numbers = self.shards[ShardId]["numbers"]
        at = 0
        if ShardIteratorType == "AFTER_SEQUENCE_NUMBER":
            at = sum(number <= int(how["StartingSequenceNumber"]) for number in numbers)
        elif ShardIteratorType == "AT_TIMESTAMP":
            at = sum(_arrived(number) < how["Timestamp"] for number in numbers)
        return {"ShardIterator": self._token(ShardId, at)}

    def get_records(self, *, ShardIterator: str, Limit: int) -> Any:  # noqa: N803
        if self.faults:
            code = self.faults.pop(0)
            self.oldest += code == "ExpiredIteratorException"
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, "GetRecords")
        name, at, age = json.loads(base64.b64decode(ShardIterator))
        if age < self.oldest:
            raise ClientError({"Error": {"Code": "ExpiredIteratorException", "Message": "old"}}, "GetRecords")
        shard = self.shards[name]
        numbers = shard["numbers"][at : at + Limit]
        at += len(numbers)
        tip = at == len(shard["numbers"])
        return {
            "Records": [
                {
                    "SequenceNumber": str(each),
                    "PartitionKey": "k",
                    "Data": b"x",
                    "ApproximateArrivalTimestamp": _arrived(each),
                }
                for each in numbers
            ],
            "NextShardIterator": None if tip and shard.get("closed") else self._token(name, at),
            "MillisBehindLatest": 0 if tip else 1000,
        }


def _arrived(number: int) -> datetime:
    return datetime.fromtimestamp(NOON.timestamp() + number, UTC)


def options(**given: Any) -> KinesisOptions:
    named = {"streamName": "s", "startingPosition": "TRIM_HORIZON", "describeShardInterval": "0s", "retryIntervalMs": "0"}
    found = Options("the kinesis source", {**named, **given})
    made = kinesis_options(found)
    found.finish()
    # As it travels through Spark's options.
    return from_text(to_text(made))


class Query:
    """What Spark does with a reader; ``run`` gives the numbers of each batch, shard by shard."""

    def __init__(self, stream: Stream, offset: dict[str, Any] | None = None, **given: Any) -> None:
        self.stream, self.options = stream, options(**given)
        self.reader = KinesisReader(self.options)
        self.reader._client = stream
        if offset is None:
            self.offset = self.reader.initialOffset()
        else:
            self.offset = json.loads(json.dumps(offset))
            self.reader.partitions(self.offset, self.offset)

    def run(self) -> list[dict[str, list[int]]]:
        batches = []
        while (end := json.loads(json.dumps(self.reader.latestOffset()))) != self.offset:
            found = {
                part.shard: self.numbers(part.shard, part.start, part.end)
                for part in self.reader.partitions(self.offset, end)
            }
            batches += [found] if found else []
            self.offset = end
        return batches

    def numbers(self, shard: str, start: Position, end: Position) -> list[int]:
        return [
            int(record["SequenceNumber"])
            for record in records_between(self.stream, self.options.stream, self.options.reading, shard, start, end)
        ]


def test_batches_are_bounded_and_go_on() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]}, b={"numbers": [4]})
    query = Query(stream, maxFetchRecordsPerShard=2)
    assert query.run() == [{"a": [1, 2], "b": [4]}, {"a": [3]}]
    stream.shards["b"]["numbers"].append(9)
    assert query.run() == [{"b": [9]}]
    stream.shards["a"]["numbers"].append(10)
    assert Query(stream, query.offset).run() == [{"a": [10]}]


def test_a_range_reads_the_same_whenever_it_is_read() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]})
    query = Query(stream)
    before, end = query.offset, query.reader.latestOffset()
    stream.shards["a"]["numbers"] += [4, 5]
    (part,) = query.reader.partitions(before, end)
    assert query.numbers("a", part.start, part.end) == [1, 2, 3]


def test_children_wait_for_all_their_parents() -> None:
    stream = Stream(
        a={"numbers": [1, 2], "closed": True},
        b={"numbers": [3], "closed": True},
        ab={"numbers": [10], "parents": ("a", "b"), "closed": True},
        left={"numbers": [20], "parents": ("ab",)},
        right={"numbers": [], "parents": ("ab",)},
    )
    query = Query(stream, maxFetchRecordsPerShard=1)
    assert query.run() == [{"a": [1], "b": [3]}, {"a": [2]}, {"ab": [10]}, {"left": [20]}]
    # Retention has taken the parents; a new run knows what was read.
    for gone in ("a", "b", "ab"):
        del stream.shards[gone]
    stream.shards["right"]["numbers"].append(30)
    again = Query(stream, query.offset)
    assert again.run() == [{"right": [30]}]
    assert set(again.offset) == {"left", "right"}


def test_latest_leaves_out_what_is_there() -> None:
    stream = Stream(a={"numbers": [1], "closed": True}, b={"numbers": [2], "parents": ("a",)})
    query = Query(stream, startingPosition="latest")
    assert query.run() == []
    # Records whose arrival lies behind the start of the query: a day after noon of the test's own calendar.
    late = int(datetime.now(UTC).timestamp() - NOON.timestamp()) + 86_400
    stream.shards["b"]["numbers"].append(late)
    assert query.run() == [{"b": [late]}]


def test_a_moment_holds_for_children_that_come_later_too() -> None:
    stream = Stream(a={"numbers": [1], "closed": True}, b={"numbers": [2, 5], "parents": ("a",)})
    moment = datetime.fromtimestamp(NOON.timestamp() + 4, UTC).isoformat()
    assert Query(stream, startingPosition=moment).run() == [{"b": [5]}]


def test_what_passes_is_tried_again() -> None:
    stream = Stream(a={"numbers": [1]})
    stream.faults = ["ProvisionedThroughputExceededException", "ExpiredIteratorException"]
    assert Query(stream).run() == [{"a": [1]}]
    stream.faults = ["ProvisionedThroughputExceededException"] * 3
    with pytest.raises(PenstockError, match="shard a of stream s"):
        Query(stream, numRetries=1).run()
    stream.faults = ["AccessDeniedException"]
    with pytest.raises(AccessDenied):
        Query(stream).run()


def test_records_that_are_gone_are_an_error_if_asked_for() -> None:
    stream = Stream(a={"numbers": [1, 2]})
    query = Query(stream)
    query.run()
    stream.shards["a"]["numbers"] = [1, 3]
    assert query.numbers("a", {"from": "TRIM_HORIZON"}, {"after": "2"}) == [1]
    stream.shards["a"]["numbers"] = [1]
    assert query.numbers("a", {"from": "TRIM_HORIZON"}, {"after": "2"}) == [1]
    strict = Query(stream, failOnDataLoss="true")
    with pytest.raises(DataProblem, match="Records up to 2 of shard a of stream s were lost"):
        strict.numbers("a", {"from": "TRIM_HORIZON"}, {"after": "2"})
