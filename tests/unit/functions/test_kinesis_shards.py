"""A reader of one shard: what its checkpoint says when the shard has ended."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.functions.checkpoints import Checkpoints
from penstock.functions.kinesis_event import KinesisOrigin
from penstock.functions.kinesis_mapping import ShardReader
from penstock.functions.model import KinesisSource, SourceMapping
from penstock.functions.records import Record

ARN = "arn:aws:kinesis:us-east-1:111122223333:stream/s"
SHARD = "shardId-000000000000"


class Closed:
    """A client of a stream whose one shard has ended behind two records."""

    def get_shard_iterator(self, **_request: Any) -> Any:
        return {"ShardIterator": "first"}

    def get_records(self, **_request: Any) -> Any:
        arrived = datetime.now(UTC)
        records = [
            {"SequenceNumber": number, "PartitionKey": "k", "Data": b"v", "ApproximateArrivalTimestamp": arrived}
            for number in ("7", "8")
        ]
        return {"Records": records, "MillisBehindLatest": 0}


class FiltersAll:
    """A lane whose filters let nothing through: each record is done with as it is offered."""

    full, busy, finished, idle_for = False, False, True, None

    def __init__(self, settled: Callable[[Sequence[Record]], None]) -> None:
        self._settled = settled

    def offer(self, record: Record) -> None:
        self._settled([record])

    def advance(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_a_shard_that_ends_in_filtered_records_has_ended(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "m")
    checkpoints.set(SHARD, {})
    reader = ShardReader(
        SHARD,
        client=Closed(),
        mapping=SourceMapping(source=KinesisSource(arn=ARN), function_name="f"),
        origin=KinesisOrigin(arn=ARN, role="r"),
        checkpoints=checkpoints,
        make_lane=FiltersAll,  # type: ignore[arg-type]
        say=print,
    )
    reader.run()
    assert checkpoints.known() == {SHARD: {"ended": True}}, "its children wait for that"
    checkpoints.close()
