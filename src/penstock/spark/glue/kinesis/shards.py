"""Kinesis's shards as ranges of sequence numbers: the end of a batch, and exactly the records up to it.

Kinesis does not return the position of a shard's tip, so the shard is read once to find it, and a second time, in
parallel, for the batch: a shard can be read twice as fast as it is written. Ranges are stored before they are read, and a
replayed batch reads the same.

A position is ``{"from": "TRIM_HORIZON"}``, ``{"at": milliseconds since 1970}`` or ``{"after": sequence number}``, with
``"ended": True`` if the shard was closed and no record follows. Spark's checkpoint stores positions as JSON.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.client.assumed_role import assumed_role_session
from penstock.client.connection import open_client
from penstock.client.kinesis import ShardFetcher, ShardPosition, StreamName, may_pass
from penstock.errors import DataProblem
from penstock.retries import RetryPolicy, call_with_retries, doubling

__all__ = ["Position", "ReadOptions", "ShardScan", "Stream", "position_json", "records_between"]

Position = Mapping[str, Any]

_EMPTY_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream, and the role that reads it. It is sent to Spark's workers, so it has no client."""

    name: str
    arn: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    role_arn: str | None = None
    role_session: str = ""

    def client(self) -> Any:
        """Return boto3's client of Kinesis, which acts as the role if there is one."""
        session = assumed_role_session(self.role_arn, self.role_session, region=self.region) if self.role_arn else None
        return open_client("kinesis", region=self.region, endpoint_url=self.endpoint_url, session=session, attempts=1)

    @property
    def named(self) -> StreamName:
        """Return the stream's name in requests."""
        return StreamName(self.name, self.arn)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Limits and retries of reads; times in seconds."""

    fetch_seconds: float = 1.0
    fetch_records: int = 100_000
    page: int = 10_000
    pause: float = 0.0
    retries: int = 3
    retry_seconds: float = 1.0
    most_retry_seconds: float = 10.0
    fail_on_data_loss: bool = False


def position_json(position: ShardPosition) -> dict[str, Any]:
    """Return a position as Spark's checkpoint stores it."""
    if position.after is not None:
        made: dict[str, Any] = {"after": position.after}
    else:
        made = {"from": "TRIM_HORIZON"} if position.at_ms is None else {"at": position.at_ms}
    return {**made, "ended": True} if position.ended else made


class _PacedFetcher:
    """A shard's records from a position on, a page for each call, with the options' retries and pauses."""

    def __init__(self, client: Any, stream: Stream, reading: ReadOptions, shard: str, position: Position) -> None:
        begin = ShardPosition(after=position.get("after"), at_ms=position.get("at"))
        self._fetcher = ShardFetcher(client, stream.named, shard, begin)
        self._reading = reading
        self._policy = RetryPolicy(
            attempts=reading.retries + 1, pauses=doubling(reading.retry_seconds, reading.most_retry_seconds)
        )
        self._read_at = 0.0
        self._pause = 0.0

    @property
    def ended(self) -> bool:
        """Whether the shard has no more."""
        return self._fetcher.ended

    @property
    def behind_ms(self) -> int:
        """How far the last page was behind the tip, in milliseconds."""
        return self._fetcher.behind_ms

    def next(self, limit: int) -> list[dict[str, Any]]:
        """Return up to ``limit`` records, maybe none."""
        wait = self._read_at + self._pause - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        records = call_with_retries(lambda: self._fetcher.fetch(limit), self._policy, when=may_pass)
        self._read_at = time.monotonic()
        # A shard allows five reads a second, and many of them may return no records.
        self._pause = max(self._reading.pause, 0.0 if records else _EMPTY_SECONDS)
        return records


class ShardScan:
    """Walks one shard to find the ends of batches. It does not keep records."""

    def __init__(self, client: Any, stream: Stream, reading: ReadOptions, shard: str, position: Position) -> None:
        self._fetcher = _PacedFetcher(client, stream, reading, shard, position)
        self._reading = reading
        self.position = position

    def advance(self) -> Position:
        """Advance to the tip, or to the limit of one batch; return the position."""
        deadline = time.monotonic() + self._reading.fetch_seconds
        left = self._reading.fetch_records
        while left > 0 and not self.position.get("ended"):
            records = self._fetcher.next(min(left, self._reading.page))
            left -= len(records)
            if records:
                self.position = {"after": records[-1]["SequenceNumber"]}
            if self._fetcher.ended:
                self.position = {**self.position, "ended": True}
            elif self._fetcher.behind_ms == 0 or time.monotonic() >= deadline:
                break
        return self.position


def records_between(  # noqa: PLR0917 - a range's parts
    client: Any, stream: Stream, reading: ReadOptions, shard: str, start: Position, end: Position
) -> Iterator[dict[str, Any]]:
    """Yield the shard's records after ``start`` up to and including ``end``, as get_records returns them, in order.

    Records of the range that the stream has lost are left out, or raise :class:`DataProblem` with ``fail_on_data_loss``.
    """
    last = end.get("after")
    if last is None or start.get("after") == last:
        return
    fetcher = _PacedFetcher(client, stream, reading, shard, start)
    while True:
        for record in fetcher.next(reading.page):
            number = int(record["SequenceNumber"])
            if number <= int(last):
                yield record
            if number >= int(last):
                if number > int(last):
                    _lost(stream, shard, last, reading)
                return
        if fetcher.ended or fetcher.behind_ms == 0:
            _lost(stream, shard, last, reading)
            return


def _lost(stream: Stream, shard: str, last: str, reading: ReadOptions) -> None:
    if reading.fail_on_data_loss:
        raise DataProblem(
            f"Records up to {last} of shard {shard} of stream {stream.name} were lost before they were read.",
            remedy="The stream's retention is too short. Leave failOnDataLoss out to continue without them.",
        )
