"""A shard's records from a position on, with the options' pauses and retries.

A position is ``{"from": "TRIM_HORIZON"}``, ``{"at": milliseconds since 1970}`` or ``{"after": sequence number}``, with
``"ended": True`` if the shard was closed and no record follows. Positions at the end of a batch also have ``"behindMs"``,
the iterator age when the batch was planned, ``"records"``, the number of records of the shard in the batch, and in the
first batch of a shard ``"since"``, the position where it began. Spark's checkpoint stores positions as JSON.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.client.assumed_role import assumed_role_session
from penstock.client.connection import open_client
from penstock.client.kinesis import ShardFetcher, ShardPosition, StreamName, may_pass
from penstock.retries import RetryPolicy, call_with_retries, doubling

__all__ = ["PacedFetcher", "Position", "ReadOptions", "Stream", "place", "position_json", "shard_position"]

Position = Mapping[str, Any]

# GetRecords: five reads a second in a shard, by all its consumers, and many of them may return no records
# (https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html).
_READ_SECONDS = 0.2
_JITTER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream, and the role that reads it. It is sent to Spark's workers, so it has no client."""

    name: str
    arn: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    role_arn: str | None = None
    role_session: str = ""
    sts_endpoint_url: str | None = None

    def client(self) -> Any:
        """Return boto3's client of Kinesis, which acts as the role if there is one."""
        session = None
        if self.role_arn:
            session = assumed_role_session(
                self.role_arn, self.role_session, region=self.region, endpoint_url=self.sts_endpoint_url
            )
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

    @property
    def policy(self) -> RetryPolicy:
        """Return the retries of one request."""
        pauses = doubling(self.retry_seconds, self.most_retry_seconds)
        return RetryPolicy(attempts=self.retries + 1, pauses=pauses, jitter=_JITTER)


def position_json(position: ShardPosition) -> dict[str, Any]:
    """Return a position as Spark's checkpoint stores it."""
    if position.after is not None:
        document: dict[str, Any] = {"after": position.after}
    else:
        document = {"from": "TRIM_HORIZON"} if position.at_ms is None else {"at": position.at_ms}
    return {**document, "ended": True} if position.ended else document


def shard_position(position: Position) -> ShardPosition:
    """Return a position of the checkpoint as the client's."""
    return ShardPosition(after=position.get("after"), at_ms=position.get("at"), ended=bool(position.get("ended")))


def place(position: Position) -> tuple[Any, ...]:
    """Return what tells two positions apart: neither their lag nor their counts."""
    return position.get("after"), position.get("at")


class PacedFetcher:
    """A shard's records from a position on, a page for each call, with the options' retries and pauses."""

    def __init__(self, client: Any, stream: Stream, reading: ReadOptions, shard: str, position: Position) -> None:
        self._fetcher = ShardFetcher(client, stream.named, shard, shard_position(position))
        self._reading = reading
        self._policy = reading.policy
        self._read_at = float("-inf")
        self._pause = max(reading.pause, _READ_SECONDS)

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
        return records
