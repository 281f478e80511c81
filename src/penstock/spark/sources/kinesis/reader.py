"""The planner of a stream of Kinesis: where each batch ends, and its records, fetched once.

Kinesis does not report the sequence number of a shard's tip. So the planner reads records to find the end of a batch, keeps
them (:mod:`.prefetch`), and gives them to the tasks. An offset is a position for every shard (:mod:`.shards`). Ranges are
in Spark's checkpoint before they are used, and a batch that is planned again has the same records: a process that did not
fetch them itself reads the range again. Children of a resharding are in a later batch than the last records of their
parents.
"""

import pickle
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from penstock.client.connection import translated_errors
from penstock.client.kinesis import first_position, list_shards, may_pass, readable_shards
from penstock.errors import DataProblem, NotFound
from penstock.retries import call_with_retries
from penstock.spark.sources.kinesis import tasks
from penstock.spark.sources.kinesis.fanout import FanOutFeed, consumer_arn
from penstock.spark.sources.kinesis.feeds import PollingFeed, ShardFeed
from penstock.spark.sources.kinesis.options import KinesisOptions, plain_options
from penstock.spark.sources.kinesis.prefetch import Piece, PieceWriter, PrefetchFolder
from penstock.spark.sources.kinesis.ranges import pages_between
from penstock.spark.sources.kinesis.shards import Position, place, position_json

__all__ = ["KinesisReader", "Offset"]

_IDLE_SECONDS = 0.1  # between two looks at subscriptions without new events
_THREADS = 8  # shards read in parallel; each may be read five times a second

Offset = dict[str, dict[str, Any]]


class KinesisReader(DataSourceStreamReader):
    """Lives in Spark's planner for as long as the query runs; tasks get a :class:`.tasks.PartitionReader` instead."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = dict(options)
        self._options: KinesisOptions = plain_options(options)
        self._client: Any = None
        self._consumer: str | None = None
        self._feeds: dict[str, ShardFeed] = {}
        self._initial: Offset | None = None
        # The last planned positions: children wait for them, and a restarted query continues there.
        self._planned: Offset | None = None
        self._pieces: dict[str, list[Piece]] = {}
        self._folder = PrefetchFolder(self._options.prefetch_location)
        self._shards: list[dict[str, Any]] = []
        self._listed = float("-inf")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what Spark sends to executors: the reader of partitions, by value, because Penstock may not be there."""
        pickler: Any = cloudpickle
        pickler.register_pickle_by_value(tasks)
        try:
            return pickle.loads, (pickler.dumps(tasks.PartitionReader()),)
        finally:
            pickler.unregister_pickle_by_value(tasks)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """Return the start of a query without a checkpoint, for every shard without a parent in the stream.

        Spark asks for it after the first :meth:`latestOffset`, so it is found once, and never moves the plan.
        """
        if self._initial is None:
            self._initial = self._find_initial()
        return self._initial

    def _find_initial(self) -> Offset:
        options = self._options
        if options.offsets is not None:
            return {shard: dict(position) for shard, position in options.offsets.items()}
        now = int(time.time() * 1000)
        shards = self._list()
        latest = options.start == "LATEST"
        readable = readable_shards(shards, ())
        chosen = [shard for shard in shards if latest or shard["ShardId"] in readable]
        moment = now if latest else options.start_ms
        return {shard["ShardId"]: position_json(first_position(shard, options.start, moment)) for shard in chosen}

    def latestOffset(self) -> Offset:  # noqa: N802 - Spark's
        """Return the end of the next batch, whose records are fetched."""
        planned = self.initialOffset() if self._planned is None else self._planned
        shards = self._list()
        listed = {shard["ShardId"] for shard in shards}
        self._check_gone(planned, listed)
        ended = {shard for shard, position in planned.items() if position.get("ended")}
        positions: dict[str, Position] = {
            shard: planned.get(shard) or self._child_begin() for shard in readable_shards(shards, ended)
        }
        # Shards that the stream does not list any more are past its retention.
        for shard in [shard for shard in self._feeds if shard not in positions or shard in ended]:
            self._feeds.pop(shard).close()
        open_shards = [shard for shard in positions if shard not in ended]
        with ThreadPoolExecutor(_THREADS) as pool:
            fetched = pool.map(lambda shard: self._take(shard, positions[shard]), open_shards)
            positions.update(zip(open_shards, fetched, strict=True))
        latest = {shard: dict(position) for shard, position in positions.items()}
        if self._consumer is not None and latest == planned:
            # Polls take their time; events have come, or have not.
            time.sleep(_IDLE_SECONDS)
        self._planned = latest
        return latest

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the fetched pieces of each shard with records. After a restart, this also passes the query's position."""
        if not self._feeds:
            self._planned = end
        self._check_direction(start, end)
        ranges = [
            (shard, position.get("since") or start.get(shard) or self._child_begin(), position)
            for shard, position in end.items()
            if position.get("after") is not None and position.get("after") != start.get(shard, {}).get("after")
        ]
        with ThreadPoolExecutor(_THREADS) as pool:
            pieces = list(pool.map(lambda range_: self._held(*range_) or self._fetch_again(*range_), ranges))
        return [
            InputPartition(
                {
                    "shard": shard,
                    "start": dict(piece.start),
                    "end": dict(piece.end),
                    "inline": piece.inline,
                    "file": piece.file,
                    "options": self._given,
                }
            )
            for (shard, _, _), pieces_of_range in zip(ranges, pieces, strict=True)
            for piece in pieces_of_range
        ]

    def read(self, partition: InputPartition) -> Any:
        """Yield a partition's records as Arrow batches of the source's columns."""
        return tasks.PartitionReader().read(partition)

    def commit(self, end: Offset) -> None:
        """Remove what was kept of batches up to ``end``, which Spark has done."""
        for shard, pieces in self._pieces.items():
            last = end.get(shard, {}).get("after")
            if last is None:
                continue
            committed = [piece for piece in pieces if int(piece.end["after"]) <= int(last)]
            for piece in committed:
                piece.remove()
            self._pieces[shard] = pieces[len(committed) :]

    def stop(self) -> None:
        """Close what is open, and remove the files."""
        for feed in self._feeds.values():
            feed.close()
        self._folder.remove()

    def _take(self, shard: str, before: Position) -> Position:
        """Fetch what follows ``before``; return the position behind it, with lag and count if records were found."""
        feed = self._feeds.get(shard) or self._open_feed(shard, before)
        writer = self._writer(shard, before)
        try:
            after = feed.take(writer, before)
            pieces = writer.finish(after)
        except BaseException:
            writer.abandon()
            raise
        if not pieces:
            return after
        self._pieces.setdefault(shard, []).extend(pieces)
        position = {**after, "behindMs": feed.behind_ms, "records": sum(piece.rows for piece in pieces)}
        # Spark does not keep the first offset of a query, and "now" is another time in the next process.
        return position if before.get("after") is not None else {**position, "since": dict(before)}

    def _open_feed(self, shard: str, position: Position) -> ShardFeed:
        options, client = self._options, self._opened()
        feed: ShardFeed
        if self._consumer is None:
            feed = PollingFeed(client, options.stream, options.reading, shard, position)
        else:
            feed = FanOutFeed(client, options.stream, options.reading, shard, position, self._consumer)
        self._feeds[shard] = feed
        return feed

    def _held(self, shard: str, start: Position, end: Position) -> list[Piece] | None:
        """Return the kept pieces that are exactly the range; None if this process has not fetched it."""
        pieces = self._pieces.get(shard, [])
        first = next((number for number, piece in enumerate(pieces) if place(piece.start) == place(start)), None)
        last = next((number for number, piece in enumerate(pieces) if place(piece.end) == place(end)), None)
        return None if first is None or last is None else pieces[first : last + 1]

    def _fetch_again(self, shard: str, start: Position, end: Position) -> list[Piece]:
        options, writer, client = self._options, self._writer(shard, start), self._opened()
        try:
            for page in pages_between(client, options.stream, options.reading, shard, start, end):
                writer.add(page, {"after": page[-1]["SequenceNumber"]})
            pieces = list(writer.finish(end))
        except BaseException:
            writer.abandon()
            raise
        # Before those that were fetched ahead: commit() removes from the front.
        self._pieces[shard] = pieces + self._pieces.get(shard, [])
        return pieces

    def _writer(self, shard: str, start: Position) -> PieceWriter:
        options = self._options
        return PieceWriter(options.stream.name, shard, start, self._folder, inline_bytes=options.inline_bytes)

    def _child_begin(self) -> dict[str, Any]:
        """Return the start of a shard that came after the first offset: its records came after those of its parents."""
        if self._options.start == "AT_TIMESTAMP":
            return {"at": self._options.start_ms}
        return {"from": "TRIM_HORIZON"}

    def _opened(self) -> Any:
        if self._client is None:
            options = self._options
            client = options.stream.client()
            self._consumer = options.consumer_arn
            if options.consumer_name is not None:
                self._consumer = consumer_arn(client, options.stream, options.consumer_name, options.reading)
            self._client = client
        return self._client

    def _check_direction(self, start: Offset, end: Offset) -> None:
        """Raise :class:`DataProblem` if a batch ends before it starts, as the trigger AvailableNow lets it."""
        for shard, position in end.items():
            before, after = start.get(shard, {}).get("after"), position.get("after")
            if before is not None and (after is None or int(after) < int(before)):
                raise DataProblem(
                    f"The next batch of stream {self._options.stream.name} would go back in shard {shard}, from {before} to "
                    f"{after or 'its start'}: Spark has not passed the checkpoint's location to the source.",
                    remedy="Do not use the trigger AvailableNow: start the query with a processing time of 0 seconds, and "
                    "call processAllAvailable().",
                )

    def _check_gone(self, planned: Offset, listed: set[str]) -> None:
        """Raise :class:`DataProblem` with ``failOnDataLoss`` for shards that expired before they were read to their end."""
        expired = sorted(shard for shard, position in planned.items() if shard not in listed and not position.get("ended"))
        if expired and self._options.reading.fail_on_data_loss:
            raise DataProblem(
                f"Shards of stream {self._options.stream.name} expired before they were read to their end: "
                f"{', '.join(expired)}.",
                remedy="The stream's retention is too short. Leave failOnDataLoss out to continue without them.",
            )

    def _list(self) -> list[dict[str, Any]]:
        """Return the stream's shards, listed again if the last list is older than ``describeShardInterval``."""
        if time.monotonic() < self._listed + self._options.list_seconds:
            return self._shards
        client, stream = self._opened(), self._options.stream

        def request() -> list[dict[str, Any]]:
            with translated_errors(client, f"the shards of stream {stream.name}"):
                return list_shards(client, stream.named)

        listed = call_with_retries(request, self._options.reading.policy, when=may_pass)
        if not listed:
            raise NotFound(f"Stream {stream.name} has no shards.")
        self._shards, self._listed = listed, time.monotonic()
        return listed
