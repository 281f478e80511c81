"""A shard as the planner follows it: by polling, or by enhanced fan-out (:mod:`.fanout`)."""

import time
from typing import Any, Protocol

from penstock.spark.sources.kinesis.prefetch import PieceWriter
from penstock.spark.sources.kinesis.shards import PacedFetcher, Position, ReadOptions, Stream

__all__ = ["PollingFeed", "ShardFeed"]

_PATIENCE_SECONDS = 30.0


class ShardFeed(Protocol):
    """The records of one shard behind a position, which moves with them."""

    @property
    def behind_ms(self) -> int:
        """How far the last records were behind the shard's tip, in milliseconds."""
        ...

    def take(self, writer: PieceWriter, position: Position) -> Position:
        """Write the records after ``position`` that are there, up to a batch's limits; return the position behind them.

        A position of a shard that was read to its end has ``ended``. Raises :class:`PenstockError`.
        """
        ...

    def close(self) -> None:
        """Stop following the shard."""
        ...


class PollingFeed:
    """Reads with GetRecords when a batch is planned."""

    def __init__(self, client: Any, stream: Stream, reading: ReadOptions, shard: str, position: Position) -> None:
        self._fetcher = PacedFetcher(client, stream, reading, shard, position)
        self._reading = reading

    @property
    def behind_ms(self) -> int:
        """How far the last page was behind the shard's tip, in milliseconds."""
        return self._fetcher.behind_ms

    def take(self, writer: PieceWriter, position: Position) -> Position:
        """Write records up to the tip, or up to the limits of one batch.

        Pages may be empty for long before the records of a shard with gaps: without a record, only the tip ends this.
        """
        started, remaining = time.monotonic(), self._reading.fetch_records
        while remaining > 0:
            records = self._fetcher.next(min(remaining, self._reading.page))
            remaining -= len(records)
            if records:
                position = {"after": records[-1]["SequenceNumber"]}
                writer.add(records, position)
            if self._fetcher.ended:
                return {**position, "ended": True}
            limit = self._reading.fetch_seconds if remaining < self._reading.fetch_records else _PATIENCE_SECONDS
            if self._fetcher.behind_ms == 0 or time.monotonic() >= started + limit:
                break
        return position

    def close(self) -> None:
        """Do nothing: a poll leaves nothing open."""
