"""A Kinesis stream as a source of Spark's Structured Streaming, by the Python Data Source API.

An offset is a position for every shard (see :mod:`.shards`), a partition the range of one shard. Children of a resharding
are read in a later batch than the last of their parents.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.client.connection import translated_errors
from penstock.client.kinesis import first_position, list_shards, readable_shards
from penstock.errors import NotFound
from penstock.serdes.errors import DamagedAggregate
from penstock.serdes.kinesis.aggregate import UserRecord, plain_record, user_records
from penstock.spark.glue.kinesis.options import KinesisOptions, from_text
from penstock.spark.glue.kinesis.shards import Position, ShardScan, Stream, position_json, records_between

__all__ = ["FORMAT", "KinesisSource"]

FORMAT = "penstock-kinesis"
_SCHEMA = (
    "data BINARY, streamName STRING, shardId STRING, partitionKey STRING, sequenceNumber STRING, "
    "subSequenceNumber INT, approximateArrivalTimestamp TIMESTAMP"
)
_THREADS = 8  # shards walked in parallel; each may be read five times a second

Offset = dict[str, dict[str, Any]]
Row = tuple[bytes, str, str, str, str, int, datetime]


class KinesisSource(DataSource):
    """The format ``penstock-kinesis``; its one option ``source`` is the result of
    :func:`~penstock.spark.glue.kinesis.options.to_text`.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of a record; ``subSequenceNumber`` counts within an aggregated record."""
        return _SCHEMA

    def streamReader(self, schema: StructType) -> "KinesisReader":  # noqa: ARG002, N802 - Spark's
        """Return the stream's reader."""
        return KinesisReader(from_text(self.options["source"]))


@dataclass
class ShardRange(InputPartition):
    """The records of one task: after ``start``, up to and including ``end``."""

    shard: str
    start: Mapping[str, Any]
    end: Mapping[str, Any]


class KinesisReader(DataSourceStreamReader):
    """Lives in Spark's planner for as long as the query runs; :meth:`read` runs in tasks."""

    def __init__(self, options: KinesisOptions) -> None:
        self._options = options
        self._client: Any = None
        self._scans: dict[str, ShardScan] = {}
        # The last planned positions: children wait for them, and a restarted query continues there.
        self._planned: Offset | None = None
        self._shards: list[dict[str, Any]] = []
        self._listed = float("-inf")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for tasks, without clients and scans."""
        return {"_options": self._options}

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the start of a query without a checkpoint, for every shard without a parent in the stream."""
        options = self._options
        now = int(time.time() * 1000)
        shards = self._list()
        latest = options.start == "LATEST"
        readable = readable_shards(shards, ())
        chosen = [shard for shard in shards if latest or shard["ShardId"] in readable]
        moment = now if latest else options.start_ms
        self._planned = {shard["ShardId"]: position_json(first_position(shard, options.start, moment)) for shard in chosen}
        return self._planned

    def latestOffset(self) -> Offset:  # noqa: N802
        """Return the end of the next batch."""
        if self._planned is None:
            self.initialOffset()
        assert self._planned is not None
        shards = self._list()
        ended = {shard for shard, position in self._planned.items() if position.get("ended")}
        for shard in readable_shards(shards, ended):
            if shard not in self._scans:
                begin: Position = self._planned.get(shard) or self._child_begin()
                self._scans[shard] = ShardScan(self._opened(), self._options.stream, self._options.reading, shard, begin)
        # Shards that the stream does not list any more are past its retention.
        listed = {shard["ShardId"] for shard in shards}
        self._scans = {shard: walk for shard, walk in self._scans.items() if shard in listed}
        with ThreadPoolExecutor(_THREADS) as pool:
            positions = pool.map(ShardScan.advance, self._scans.values())
            return {shard: dict(position) for shard, position in zip(self._scans, positions, strict=True)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[ShardRange]:
        """Return a range for each shard with records. After a restart, this call also passes the query's position."""
        self._planned = end
        return [
            ShardRange(shard, start.get(shard) or self._child_begin(), position)
            for shard, position in end.items()
            if position.get("after") is not None and position.get("after") != start.get(shard, {}).get("after")
        ]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        """Yield the records of a range, with aggregated records split."""
        assert isinstance(partition, ShardRange)
        stream = self._options.stream
        client = _task_client(stream)
        for record in records_between(
            client, stream, self._options.reading, partition.shard, partition.start, partition.end
        ):
            number, arrived = record["SequenceNumber"], record["ApproximateArrivalTimestamp"]
            for index, part in enumerate(_parts(record)):
                yield part.data, stream.name, partition.shard, part.partition_key, number, index, arrived

    def _child_begin(self) -> dict[str, Any]:
        """Return the start of a shard that came after the first offset: its records came after those of its parents."""
        if self._options.start == "AT_TIMESTAMP":
            return {"at": self._options.start_ms}
        return {"from": "TRIM_HORIZON"}

    def _opened(self) -> Any:
        if self._client is None:
            self._client = self._options.stream.client()
        return self._client

    def _list(self) -> list[dict[str, Any]]:
        """Return the stream's shards, listed again if the last list is older than ``describeShardInterval``."""
        if time.monotonic() < self._listed + self._options.list_seconds:
            return self._shards
        client, stream = self._opened(), self._options.stream
        with translated_errors(client, f"the shards of stream {stream.name}"):
            found = list_shards(client, stream.named)
        if not found:
            raise NotFound(f"Stream {stream.name} has no shards.")
        self._shards, self._listed = found, time.monotonic()
        return found


@cache
def _task_client(stream: Stream) -> Any:
    """Return one client for all tasks of a worker process, because creating one takes longer than many reads."""
    return stream.client()


def _parts(record: Mapping[str, Any]) -> Sequence[UserRecord]:
    """Return the records in a record. A damaged aggregate is one record, as in the KCL, and does not end the stream."""
    try:
        return user_records(record)
    except DamagedAggregate:
        return [plain_record(record)]
