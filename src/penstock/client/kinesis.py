"""Reads a Kinesis stream's shards: which of them may be read now, from which position, and their records page by page.

A shard that was split or merged ends, and its children have the later records: they are read once their parents are
(https://docs.aws.amazon.com/streams/latest/dev/kinesis-record-processor-scaling.html). Lineage and positions are values;
:class:`ShardFetcher` makes the calls, one attempt each, and leaves it to its user when to try again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from penstock.client.connection import error_code, translated_errors
from penstock.errors import EnvironmentProblem, LimitExceeded

__all__ = [
    "ShardFetcher",
    "ShardPosition",
    "StartingPosition",
    "StreamName",
    "first_position",
    "list_shards",
    "may_pass",
    "readable_shards",
]

StartingPosition = Literal["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]

# Errors of this service that a retry may resolve, in addition to those of all services. The last one is of an iterator
# that is older than five minutes.
_PASSING = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "KMSThrottlingException",
        "ExpiredIteratorException",
    }
)


@dataclass(frozen=True, slots=True)
class StreamName:
    """A stream as requests name it; ``arn`` if it is known, which may be another account's."""

    name: str
    arn: str | None = None

    @classmethod
    def of(cls, text: str) -> "StreamName":
        """Return the stream of a name or an ARN."""
        return cls(text.rpartition("/")[2], text if text.startswith("arn:") else None)

    @property
    def arguments(self) -> dict[str, str]:
        """Return members of a request."""
        return {"StreamName": self.name, **({"StreamARN": self.arn} if self.arn else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPosition:
    """Where to continue a shard: after a sequence number, else at a time (milliseconds since 1970), else at its start.

    ``ended``: the shard was closed and read to its end.
    """

    after: str | None = None
    at_ms: int | None = None
    ended: bool = False

    @property
    def iterator_arguments(self) -> dict[str, Any]:
        """Return members of GetShardIterator's request."""
        if self.after:
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": self.after}
        if self.at_ms is not None:
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime.fromtimestamp(self.at_ms / 1000, UTC)}
        return {"ShardIteratorType": "TRIM_HORIZON"}


def first_position(shard: Mapping[str, Any], start: StartingPosition, at_ms: int | None) -> ShardPosition:
    """Return where to begin ``shard`` of a stream never read; ``at_ms`` is AT_TIMESTAMP's time, or now for LATEST."""
    if start == "TRIM_HORIZON":
        return ShardPosition()
    if start == "LATEST" and shard["SequenceNumberRange"].get("EndingSequenceNumber"):
        # A shard that a resharding has closed gets no more records.
        return ShardPosition(ended=True)
    return ShardPosition(at_ms=at_ms)


def readable_shards(shards: Sequence[Mapping[str, Any]], ended: Collection[str]) -> list[str]:
    """Return the ids of those ``shards`` whose parents are in ``ended``, or gone from the stream."""
    listed = {shard["ShardId"] for shard in shards}

    def waits(shard: Mapping[str, Any]) -> bool:
        parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
        return any(parent in listed and parent not in ended for parent in parents)

    return [shard["ShardId"] for shard in shards if not waits(shard)]


def list_shards(client: Any, stream: StreamName, **filters: Any) -> list[dict[str, Any]]:
    """Return all shards of a stream, as ListShards describes them. Raises botocore's errors."""
    shards: list[dict[str, Any]] = []
    request: dict[str, Any] = {**stream.arguments, **filters}
    while True:
        page = client.list_shards(**request)
        shards.extend(page["Shards"])
        if not page.get("NextToken"):
            return shards
        # A token names the stream. AWS refuses a request with both.
        request = {"NextToken": page["NextToken"]}


def may_pass(error: Exception) -> bool:
    """Return whether a retry may succeed: after too many reads, a server's failure, or an expired iterator."""
    return isinstance(error, EnvironmentProblem | LimitExceeded) or error_code(error) in _PASSING


class ShardFetcher:
    """Fetches a shard's records after ``position``, which moves with them. For one thread."""

    def __init__(self, client: Any, stream: StreamName, shard: str, position: ShardPosition) -> None:
        self._client = client
        self._stream = stream
        self._shard = shard
        self._iterator: str | None = None
        self.position = position
        self.ended = False
        """Whether the shard was closed and has no more records."""
        self.behind_ms = 1
        """Milliseconds by which the last page was behind the shard's end; 0 once that was reached."""

    def fetch(self, limit: int) -> list[dict[str, Any]]:
        """Return up to ``limit`` records, maybe none. Raises :class:`PenstockError`, on which see :func:`may_pass`."""
        try:
            with translated_errors(self._client, f"records of shard {self._shard} of stream {self._stream.name}"):
                if self._iterator is None:
                    self._iterator = self._open()
                answer = self._client.get_records(ShardIterator=self._iterator, Limit=limit)
                records: list[dict[str, Any]] = answer["Records"]
        except Exception as error:
            if error_code(error) == "ExpiredIteratorException":
                self._iterator = None
            raise
        self._iterator = answer.get("NextShardIterator")
        self.ended = not self._iterator
        self.behind_ms = int(answer.get("MillisBehindLatest", 0))
        if records:
            self.position = ShardPosition(after=records[-1]["SequenceNumber"])
        return records

    def _open(self) -> str:
        request = {**self._stream.arguments, "ShardId": self._shard, **self.position.iterator_arguments}
        return str(self._client.get_shard_iterator(**request)["ShardIterator"])
