"""Kinesis's shards as ranges of sequence numbers: where a batch ends, and exactly the records up to there.

Kinesis does not say where a shard's tip is, so it is read up to there once to find it, and a second time, in parallel, for
the batch: a shard gives twice what it takes in. Ranges are written down before they are read, and a batch that is replayed
reads the same.

A position is ``{"from": "TRIM_HORIZON"}``, ``{"at": milliseconds since 1970}`` or ``{"after": sequence number}``, with
``"ended": True`` where the shard was closed and nothing follows. Positions go through JSON into Spark's checkpoint.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from penstock.client.assumed_role import assumed_role_session
from penstock.client.connection import calls, open_client
from penstock.errors import DataProblem, EnvironmentProblem, PenstockError

__all__ = ["Position", "Reading", "ShardWalk", "Stream", "first_position", "ready_shards", "records_between"]

Position = Mapping[str, Any]
Positions = Mapping[str, Position]

_EMPTY_SECONDS = 0.2
_EXPIRED = "ExpiredIteratorException"  # five minutes after it was given
_PASSING = frozenset({_EXPIRED, "ProvisionedThroughputExceededException", "LimitExceededException", "ThrottlingException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Which stream, and who reads it. Goes to Spark's workers, so it holds no client."""

    name: str
    arn: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    role_arn: str | None = None
    role_session: str = ""

    def client(self) -> Any:
        """boto3's client of Kinesis, acting as the role where there is one."""
        session = assumed_role_session(self.role_arn, self.role_session, region=self.region) if self.role_arn else None
        return open_client("kinesis", region=self.region, endpoint_url=self.endpoint_url, session=session, attempts=1)

    @property
    def names(self) -> dict[str, str]:
        """How requests name the stream, which may be another account's."""
        return {"StreamName": self.name, **({"StreamARN": self.arn} if self.arn else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How reads are bounded and repeated; times in seconds."""

    fetch_seconds: float = 1.0
    fetch_records: int = 100_000
    page: int = 10_000
    pause: float = 0.0
    retries: int = 3
    retry_seconds: float = 1.0
    most_retry_seconds: float = 10.0
    fail_on_data_loss: bool = False


def first_position(shard: Mapping[str, Any], start: str, moment_ms: int | None) -> Position:
    """Where a stream's first batch begins in ``shard``: ``start`` is TRIM_HORIZON, LATEST or AT_TIMESTAMP."""
    if start == "TRIM_HORIZON":
        return {"from": "TRIM_HORIZON"}
    if start == "LATEST" and shard["SequenceNumberRange"].get("EndingSequenceNumber"):
        # What a resharding has closed holds nothing that is the latest.
        return {"from": "TRIM_HORIZON", "ended": True}
    return {"at": moment_ms}


def ready_shards(shards: Sequence[Mapping[str, Any]], known: Positions) -> list[str]:
    """Shards that may be read: known ones, and those whose parents are read to the end, or gone from the stream."""
    listed = {shard["ShardId"] for shard in shards}

    def waits(shard: Mapping[str, Any]) -> bool:
        parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
        return any(parent in listed and not known.get(str(parent), {}).get("ended") for parent in parents)

    return [shard["ShardId"] for shard in shards if shard["ShardId"] in known or not waits(shard)]


class _Pages:
    """A shard's records from a position on, a page a call; gets a new iterator where the old one has expired."""

    def __init__(self, client: Any, stream: Stream, reading: Reading, shard: str, position: Position) -> None:
        self._client = client
        self._stream = stream
        self._reading = reading
        self._shard = shard
        self._position = position
        self._iterator: str | None = None
        self.ended = False
        self.behind_ms = 1
        self._read_at = 0.0
        self._pause = 0.0

    def next(self, limit: int) -> list[dict[str, Any]]:
        """Up to ``limit`` records, maybe none; sets ``ended`` where the shard has no more, and ``behind_ms``."""
        if self._iterator is None:
            self._iterator = self._open()
        wait = self._read_at + self._pause - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        answer = self._repeated(lambda: self._client.get_records(ShardIterator=self._iterator, Limit=limit))
        self._read_at = time.monotonic()
        records: list[dict[str, Any]] = answer["Records"]
        # A shard allows five reads a second, and may have nothing to give for many of them.
        self._pause = max(self._reading.pause, 0.0 if records else _EMPTY_SECONDS)
        self._iterator = answer.get("NextShardIterator")
        self.ended = not self._iterator
        self.behind_ms = int(answer.get("MillisBehindLatest", 0))
        if records:
            self._position = {"after": records[-1]["SequenceNumber"]}
        return records

    def _open(self) -> str | None:
        how: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after := self._position.get("after"):
            how = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        elif (moment := self._position.get("at")) is not None:
            how = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime.fromtimestamp(moment / 1000, UTC)}
        answer = self._repeated(lambda: self._client.get_shard_iterator(**self._stream.names, ShardId=self._shard, **how))
        iterator: str | None = answer.get("ShardIterator")
        return iterator

    def _repeated(self, call: Callable[[], Any]) -> Any:
        """``call``, made again after what passes: too many reads, a server that fails, an iterator that is too old."""
        pause, left = self._reading.retry_seconds, self._reading.retries
        while True:
            try:
                with calls(self._client, f"records of shard {self._shard} of stream {self._stream.name}"):
                    return call()
            except PenstockError as error:
                cause = error.__cause__
                code = cause.response.get("Error", {}).get("Code", "") if isinstance(cause, ClientError) else ""
                if not left or not (isinstance(error, EnvironmentProblem) or code in _PASSING):
                    raise
                left -= 1
                if code == _EXPIRED:
                    self._iterator = self._open()
                    continue
            time.sleep(pause)
            pause = min(2 * pause, self._reading.most_retry_seconds)


class ShardWalk:
    """Walks one shard to find where batches end. Holds no records."""

    def __init__(self, client: Any, stream: Stream, reading: Reading, shard: str, position: Position) -> None:
        self._pages = _Pages(client, stream, reading, shard, position)
        self._reading = reading
        self.position = position

    def advance(self) -> Position:
        """Go on to the tip, or as far as one batch may; the position there."""
        deadline = time.monotonic() + self._reading.fetch_seconds
        left = self._reading.fetch_records
        while left > 0 and not self.position.get("ended"):
            records = self._pages.next(min(left, self._reading.page))
            left -= len(records)
            if records:
                self.position = {"after": records[-1]["SequenceNumber"]}
            if self._pages.ended:
                self.position = {**self.position, "ended": True}
            elif self._pages.behind_ms == 0 or time.monotonic() >= deadline:
                break
        return self.position


def records_between(  # noqa: PLR0917 - a range's parts
    client: Any, stream: Stream, reading: Reading, shard: str, start: Position, end: Position
) -> Iterator[dict[str, Any]]:
    """The shard's records behind ``start`` up to and with ``end``, as get_records gives them, in order.

    Records of the range that are gone from the stream are left out, or raise :class:`DataProblem` with
    ``fail_on_data_loss``.
    """
    last = end.get("after")
    if last is None or start.get("after") == last:
        return
    pages = _Pages(client, stream, reading, shard, start)
    while True:
        for record in pages.next(reading.page):
            number = int(record["SequenceNumber"])
            if number <= int(last):
                yield record
            if number >= int(last):
                if number > int(last):
                    _lost(stream, shard, last, reading)
                return
        if pages.ended or pages.behind_ms == 0:
            _lost(stream, shard, last, reading)
            return


def _lost(stream: Stream, shard: str, last: str, reading: Reading) -> None:
    if reading.fail_on_data_loss:
        raise DataProblem(
            f"Records up to {last} of shard {shard} of stream {stream.name} are gone before they were read.",
            remedy="The stream kept them too short a time. Leave failOnDataLoss out to go on without them.",
        )
