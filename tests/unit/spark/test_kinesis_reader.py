"""The Kinesis reader's offsets and ranges, against a stream that behaves as AWS describes it, shards that close included.

The stand-in of the integration tests never says that a closed shard has ended.
"""

import base64
import json
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from pyspark.sql.types import StructType

from penstock.errors import AccessDenied, DataProblem, PenstockError
from penstock.spark.sources.kinesis import shards
from penstock.spark.sources.kinesis.prefetch import PrefetchFolder
from penstock.spark.sources.kinesis.ranges import pages_between
from penstock.spark.sources.kinesis.reader import KinesisReader
from penstock.spark.sources.kinesis.source import KinesisDataSource

META = boto3.session.Session().client("kinesis", region_name="us-east-1").meta
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Stream:
    """Shards by name: parents, sequence numbers, whether closed. Answers ``faults`` first, error codes."""

    meta = META

    def __init__(self, **shards: dict[str, Any]) -> None:
        self.shards = shards
        self.faults: list[str] = []
        self.oldest = 0
        self.served: list[int] = []

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
        self.served += numbers
        at += len(numbers)
        tip = at == len(shard["numbers"])
        return {
            "Records": [
                {
                    "SequenceNumber": str(number),
                    "PartitionKey": "k",
                    "Data": b"x",
                    "ApproximateArrivalTimestamp": _arrived(number),
                }
                for number in numbers
            ],
            "NextShardIterator": None if tip and shard.get("closed") else self._token(name, at),
            "MillisBehindLatest": 0 if tip else 1000,
        }


def _arrived(number: int) -> datetime:
    return datetime.fromtimestamp(NOON.timestamp() + number, UTC)


class Query:
    """What Spark does with a reader; ``run`` gives the numbers of each batch, shard by shard."""

    def __init__(self, stream: Stream, offset: dict[str, Any] | None = None, **given: Any) -> None:
        self.stream = stream
        named = {
            "streamName": "s",
            "startingPosition": "TRIM_HORIZON",
            "describeShardInterval": "0s",
            "retryIntervalMs": "0",
        }
        self.reader = KinesisReader({**named, **given})
        self.reader._client = stream
        if offset is None:
            self.offset = self.reader.initialOffset()
        else:
            self.offset = json.loads(json.dumps(offset))
            self.reader.partitions(self.offset, self.offset)

    def plan(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(json.dumps(self.reader.latestOffset()))
        # Spark asks for the start of the first batch when its end has been planned.
        self.reader.initialOffset()
        return document

    def run(self) -> list[dict[str, list[int]]]:
        batches = []
        while (end := self.plan()) != self.offset:
            results = self.batch(self.offset, end)
            batches += [results] if results else []
            self.reader.commit(end)
            self.offset = end
        return batches

    def batch(self, start: dict[str, Any], end: dict[str, Any]) -> dict[str, list[int]]:
        """The batch as the executors read it: what is pickled is all that they have."""
        executor = pickle.loads(pickle.dumps(self.reader))
        results: dict[str, list[int]] = {}
        for part in pickle.loads(pickle.dumps(self.reader.partitions(start, end))):
            for batch in executor.read(part):
                numbers = results.setdefault(part.value["shard"], [])
                numbers += [int(number) for number in batch.column("sequenceNumber").to_pylist()]
        return results


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_READ_SECONDS", 0.0)


def test_batches_are_bounded_and_go_on() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]}, b={"numbers": [4]})
    query = Query(stream, maxFetchRecordsPerShard="2")
    assert query.run() == [{"a": [1, 2], "b": [4]}, {"a": [3]}]
    stream.shards["b"]["numbers"].append(9)
    assert query.run() == [{"b": [9]}]
    stream.shards["a"]["numbers"].append(10)
    assert Query(stream, query.offset).run() == [{"a": [10]}]


@pytest.mark.parametrize("inline", ["100000", "0"], ids=["sent with the task", "in a file"])
def test_a_shard_is_read_once_however_often_the_batch_is_used(inline: str, tmp_path: Path) -> None:
    stream = Stream(a={"numbers": [1, 2, 3]}, b={"numbers": [7]})
    query = Query(stream, maxInlineBytes=inline, prefetchLocation=str(tmp_path))
    before, end = query.offset, query.plan()
    stream.shards["a"]["numbers"] += [4, 5]
    assert [query.batch(before, end) for _ in range(3)] == [{"a": [1, 2, 3], "b": [7]}] * 3
    assert sorted(stream.served) == [1, 2, 3, 7]
    files = list(tmp_path.rglob("*.arrow"))
    assert len(files) == (0 if inline == "100000" else 2)
    # What Spark has done is removed; what was planned since stays.
    again = query.plan()
    query.reader.commit(end)
    assert not [file for file in files if file.exists()]
    assert query.batch(end, again) == {"a": [4, 5]}
    query.reader.stop()
    assert list(tmp_path.iterdir()) == []


def test_executors_need_nothing_of_penstock(tmp_path: Path) -> None:
    stream = Stream(a={"numbers": [1, 2]}, b={"numbers": [3]})
    # One shard's records are sent with the task, the other's are in a file.
    query = Query(stream, maxInlineBytes="50", prefetchLocation=str(tmp_path / "files"))
    end = query.plan()
    source = KinesisDataSource({"streamName": "s"})
    reader = source.streamReader(StructType())
    work = (source, reader, query.reader.partitions(query.offset, end))
    (tmp_path / "work").write_bytes(pickle.dumps(work))
    program = """
import pickle, sys
sys.modules["penstock"] = None  # as if it were not installed
source, reader, parts = pickle.load(open(sys.argv[1], "rb"))
assert {type(each.value["inline"]) for each in parts} == {bytes, type(None)}
print([batch.column("sequenceNumber").to_pylist() for part in parts for batch in reader.read(part)])
parts[0].value.update(inline=None, file="/nowhere")
try:
    list(reader.read(parts[0]))
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "work")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[['1', '2'], ['3']]\nRecords of shard a were fetched on the driver's machine")
    assert "prefetchLocation" in done.stdout
    query.reader.stop()


def test_another_process_plans_the_same_batch_by_its_numbers() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]})
    query = Query(stream, maxRecordPerRead="2")
    before, end = query.offset, query.plan()
    stream.shards["a"]["numbers"] += [4, 5]
    stream.served.clear()
    restarted = Query(stream, end)
    assert restarted.batch(before, end) == {"a": [1, 2, 3]}
    assert restarted.run() == [{"a": [4, 5]}]


def test_a_first_batch_that_is_planned_again_begins_where_it_began() -> None:
    stream = Stream(a={"numbers": [1]})
    query = Query(stream, startingPosition="latest")
    late = int(datetime.now(UTC).timestamp() - NOON.timestamp()) + 86_400
    stream.shards["a"]["numbers"] += [late, late + 1]
    end = query.plan()
    assert end["a"]["since"] == query.offset["a"]
    # Spark asks a new process for the initial offset again; "latest" is later then.
    later = {"a": {"at": (late + 1) * 1000 + int(NOON.timestamp() * 1000)}}
    assert Query(stream, end).batch(later, end) == {"a": [late, late + 1]}


def test_a_plan_that_goes_back_is_refused() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]})
    available_now = Query(stream, maxFetchRecordsPerShard="1")
    end = available_now.plan()
    with pytest.raises(DataProblem, match=r"would go back in shard a, from 3 to 1.*processAllAvailable"):
        available_now.batch({"a": {"after": "3"}}, end)


def test_positions_say_how_far_behind_and_how_many() -> None:
    stream = Stream(a={"numbers": [1, 2, 3]})
    query = Query(stream, maxFetchRecordsPerShard="2")
    first, second = query.plan(), query.plan()
    since = {"since": {"from": "TRIM_HORIZON"}}
    assert first == {"a": {"after": "2", "behindMs": 1000, "records": 2, **since}}
    assert second == {"a": {"after": "3", "behindMs": 0, "records": 1}}
    # Without new records nothing changes, or Spark would run empty batches.
    assert query.plan() == second


def test_children_wait_for_all_their_parents() -> None:
    stream = Stream(
        a={"numbers": [1, 2], "closed": True},
        b={"numbers": [3], "closed": True},
        ab={"numbers": [10], "parents": ("a", "b"), "closed": True},
        left={"numbers": [20], "parents": ("ab",)},
        right={"numbers": [], "parents": ("ab",)},
    )
    query = Query(stream, maxFetchRecordsPerShard="1")
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
        Query(stream, numRetries="1").run()
    stream.faults = ["AccessDeniedException"]
    with pytest.raises(AccessDenied):
        Query(stream).run()


def numbers_between(query: Query, last: str) -> list[int]:
    source = query.reader._options
    pages = pages_between(query.stream, source.stream, source.reading, "a", {"from": "TRIM_HORIZON"}, {"after": last})
    return [int(record["SequenceNumber"]) for page in pages for record in page]


def test_records_that_are_gone_are_an_error_if_asked_for() -> None:
    stream = Stream(a={"numbers": [1, 2]})
    query = Query(stream)
    query.run()
    stream.shards["a"]["numbers"] = [1, 3]
    assert numbers_between(query, "2") == [1]
    stream.shards["a"]["numbers"] = [1]
    assert numbers_between(query, "2") == [1]
    strict = Query(stream, failOnDataLoss="true")
    with pytest.raises(DataProblem, match="Records up to 2 of shard a of stream s were lost"):
        numbers_between(strict, "2")
    del stream.shards["a"]
    stream.shards["b"] = {"numbers": []}
    with pytest.raises(DataProblem, match="expired before they were read to their end: a"):
        strict.run()


def test_files_of_processes_that_ended_are_removed_and_no_others(tmp_path: Path) -> None:
    machine = os.uname().nodename
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone, other = tmp_path / f"penstock-kinesis-{ended.pid}-x@{machine}", tmp_path / f"penstock-kinesis-{ended.pid}-x@else"
    running = tmp_path / f"penstock-kinesis-{os.getppid()}-x@{machine}"
    for folder in (gone, other, running):
        folder.mkdir()
    prefetch = PrefetchFolder(str(tmp_path))
    ours = prefetch.new_file()
    assert sorted(tmp_path.iterdir()) == sorted([other, running, ours.parent])
    prefetch.remove()
    assert sorted(tmp_path.iterdir()) == sorted([other, running])
