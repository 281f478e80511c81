"""A reader of one shard: its checkpoint at the shard's end, and its retries when it may not read."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock import durable
from penstock.errors import EnvironmentProblem, InvalidInput, NotFound
from penstock.functions.kinesis import mapping as kinesis_mapping
from penstock.functions.kinesis.checkpoints import Checkpoints
from penstock.functions.kinesis.event import KinesisOrigin
from penstock.functions.kinesis.mapping import KinesisMapping, ShardReader
from penstock.functions.model import EventSourceMapping, KinesisSource
from penstock.functions.records import Record
from penstock.retries import RetryPolicy

ARN = "arn:aws:kinesis:us-east-1:111122223333:stream/s"
SHARD = "shardId-000000000000"


class Closed:
    """A client of a stream whose one shard has ended behind two records; it answers with ``faults`` first."""

    meta = boto3.session.Session().client("kinesis", region_name="us-east-1").meta

    def __init__(self, **faults: list[str]) -> None:
        self._faults = faults
        self.asked: list[dict[str, Any]] = []

    def _refuse(self, operation: str) -> None:
        if self._faults.get(operation):
            code = self._faults[operation].pop(0)
            if code:
                raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    def get_shard_iterator(self, **request: Any) -> Any:
        self.asked.append(request)
        self._refuse("GetShardIterator")
        return {"ShardIterator": "first"}

    def get_records(self, **_request: Any) -> Any:
        self._refuse("GetRecords")
        arrived = datetime.now(UTC)
        records = [
            {"SequenceNumber": number, "PartitionKey": "k", "Data": b"v", "ApproximateArrivalTimestamp": arrived}
            for number in ("7", "8")
        ]
        return {"Records": records, "MillisBehindLatest": 0}


class FiltersAll:
    """A dispatcher whose filters let nothing through: each record is done with as it is offered."""

    full, busy, finished, due_in = False, False, True, None

    def __init__(self, on_done: Callable[[Sequence[Record]], None]) -> None:
        self._on_done = on_done

    def offer(self, record: Record) -> None:
        self._on_done([record])

    def advance(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def checkpoints(tmp_path: Path) -> Iterator[Checkpoints]:
    kept = Checkpoints(tmp_path, "m")
    yield kept
    kept.close()


def reader(client: Closed, checkpoints: Checkpoints, report: Callable[[str], None] = print) -> ShardReader:
    return ShardReader(
        SHARD,
        client=client,
        mapping=EventSourceMapping(source=KinesisSource(arn=ARN), function_name="f"),
        origin=KinesisOrigin(arn=ARN, role="r"),
        checkpoints=checkpoints,
        make_dispatcher=FiltersAll,  # type: ignore[arg-type]
        report=report,
    )


def test_a_shard_that_ends_in_filtered_records_has_ended(checkpoints: Checkpoints) -> None:
    checkpoints.set(SHARD, {})
    reader(Closed(), checkpoints).run()
    assert checkpoints.all() == {SHARD: {"ended": True}}, "its children wait for that"


@pytest.mark.parametrize(
    "faults",
    [
        {"GetShardIterator": ["ProvisionedThroughputExceededException", "LimitExceededException"]},
        {"GetRecords": ["ExpiredIteratorException"], "GetShardIterator": ["", "ThrottlingException"]},
    ],
    ids=["at the start", "after an iterator that was too old"],
)
def test_a_throttled_read_is_retried(
    checkpoints: Checkpoints, faults: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinesis_mapping, "KINESIS_READ", RetryPolicy(pauses=(0.0,)))
    checkpoints.set(SHARD, {"after": "6"})
    client = Closed(**faults)
    said: list[str] = []
    reader(client, checkpoints, said.append).run()
    assert checkpoints.all() == {SHARD: {"ended": True}}
    assert {entry["StartingSequenceNumber"] for entry in client.asked} == {"6"}
    assert all(f"The read of shard {SHARD} is retried." in line for line in said)
    assert len(said) == 2


def test_pauses_grow_and_are_not_the_same(checkpoints: Checkpoints) -> None:
    pauses = []
    for _ in range(2):
        checkpoints.set(SHARD, {})
        one = reader(Closed(GetShardIterator=["ThrottlingException"] * 9), checkpoints)
        for _ in range(9):
            one._read()
            pauses.append(one._pause)
    first, second = pauses[:9], pauses[9:]
    assert all(min(30.0, 2.0**n) / 2 <= pause <= min(30.0, 2.0**n) for n, pause in enumerate(first))
    assert first != second


def test_a_stream_that_is_gone_ends_the_reader(checkpoints: Checkpoints) -> None:
    checkpoints.set(SHARD, {})
    with pytest.raises(NotFound):
        reader(Closed(GetRecords=["ResourceNotFoundException"]), checkpoints).run()


def test_a_stream_that_is_not_there_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing(Closed):
        def list_shards(self, **_request: Any) -> Any:
            self._refuse("ListShards")

    monkeypatch.setattr(
        kinesis_mapping, "open_client", lambda *_args, **_named: Nothing(ListShards=["ResourceNotFoundException"])
    )
    source = EventSourceMapping(source=KinesisSource(arn=ARN), function_name="f")
    origin = KinesisOrigin(arn=ARN, role="r")
    mapping = KinesisMapping(source, origin, FiltersAll, state=tmp_path, report=print)  # type: ignore[arg-type]
    with pytest.raises(EnvironmentProblem, match="Create the stream, or correct EventSourceArn"):
        mapping.run()


def test_a_mappings_beginning_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Streams(Closed):
        def list_shards(self, **request: Any) -> Any:
            if self.asked:
                raise KeyboardInterrupt
            self.asked.append(request)
            ranges = {"SequenceNumberRange": {"StartingSequenceNumber": "1"}}
            return {"Shards": [{"ShardId": f"shardId-{number}", **ranges} for number in range(3)]}

    written: list[Path] = []

    def writing(path: Path) -> Any:
        written.append(path)
        return durable.writing(path)

    parts = SimpleNamespace(writing=writing, make_folder=durable.make_folder)
    monkeypatch.setattr("penstock.functions.kinesis.checkpoints.durable", parts)
    monkeypatch.setattr(kinesis_mapping, "open_client", lambda *_args, **_named: Streams())
    source = EventSourceMapping(source=KinesisSource(arn=ARN), function_name="f", start="LATEST")
    origin = KinesisOrigin(arn=ARN, role="r")
    mapping = KinesisMapping(source, origin, FiltersAll, state=tmp_path, report=print)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        mapping.run()
    assert len(written) == 1


def test_one_run_at_a_time_has_the_checkpoints(tmp_path: Path) -> None:
    first = Checkpoints(tmp_path, "m")
    with pytest.raises(InvalidInput, match="Another run on this machine reads the stream of mapping m"):
        Checkpoints(tmp_path, "m")
    Checkpoints(tmp_path, "other").close()
    first.close()
    Checkpoints(tmp_path, "m").close()
