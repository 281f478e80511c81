"""Kinesis records in AWS's frame: values to arguments of boto3's ``put_record(s)``, and ``get_records`` answers to values.

The frame is the same as in Kafka, so AWS's producer and consumer libraries with schema support read and write the same
records. Aggregated records are always read, and written on request.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from penstock.client.connection import translated_errors
from penstock.client.kinesis import StreamName, list_shards
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.retries import KINESIS_WRITE, call_with_retries
from penstock.serdes.deserializer import RegistryDeserializer
from penstock.serdes.errors import SerdeError
from penstock.serdes.kinesis.aggregate import MAX_RECORD, Aggregator, UserRecord, check_keys, plain_record, user_records
from penstock.serdes.serializer import RegistrySerializer

if TYPE_CHECKING:
    from types_boto3_kinesis import KinesisClient

__all__ = ["KinesisDeserializer", "KinesisSerializer", "KinesisValue", "aggregated", "open_shards", "put_all"]

_MAX_ENTRIES = 500  # PutRecords: records per request
_LARGEST_RECORD = 10 * MAX_RECORD  # bytes, the highest maximum that a stream can be given
_MAX_REQUEST = 5 * 1_048_576  # PutRecords: bytes per request, data and partition keys
_RETRIED = frozenset({"ProvisionedThroughputExceededException", "InternalFailure", "KMSThrottlingException"})


class KinesisSerializer(RegistrySerializer):
    """Values to records. Thread-safe. Arguments as in :class:`RegistrySerializer`, with the stream in place of the topic.

    ``max_record`` is the streams' maximum size of a record in bytes, including its key: 1 MiB by default; a stream's maximum
    can be raised to 10 MiB (https://docs.aws.amazon.com/streams/latest/dev/large-records.html).
    """

    __slots__ = ("_max_record",)

    def __init__(self, *arguments: Any, max_record: int = MAX_RECORD, **settings: Any) -> None:
        if not 0 < max_record <= _LARGEST_RECORD:
            raise InvalidInput(
                f"max_record={max_record} is out of range.",
                remedy=f"Kinesis accepts records of 1 to {_LARGEST_RECORD} bytes.",
            )
        super().__init__(*arguments, **settings)
        self._max_record = max_record

    def record(self, stream: str, value: Any, partition_key: str, *, explicit_hash_key: str | None = None) -> dict[str, Any]:
        """Return an entry of ``put_records``; together with ``StreamName``, the arguments of ``put_record``.

        Raise :class:`SerdeError` for a value that does not fit its schema, and :class:`InvalidInput` for ``None`` (Kinesis
        has no tombstones), keys that Kinesis does not accept and a record that is too large.
        """
        user = self.user_record(stream, value, partition_key, explicit_hash_key=explicit_hash_key)
        check_keys(user)
        if len(user.data) + len(partition_key.encode()) > self._max_record:
            raise InvalidInput(
                f"The record for stream {stream} has {len(user.data)} bytes; at most {self._max_record} are allowed, "
                "including its key.",
                remedy="Store the content elsewhere and send its address, or raise the stream's maximum and max_record.",
            )
        entry: dict[str, Any] = {"Data": user.data, "PartitionKey": partition_key}
        return entry if explicit_hash_key is None else {**entry, "ExplicitHashKey": explicit_hash_key}

    def user_record(
        self, stream: str, value: Any, partition_key: str, *, explicit_hash_key: str | None = None
    ) -> UserRecord:
        """Return the record for an :class:`~penstock.serdes.kinesis.aggregate.Aggregator`. Raise as :meth:`record` does."""
        data = self.write(value, stream)
        if data is None:
            raise InvalidInput(
                f"The record for stream {stream} has no value.", remedy="Send a value: Kinesis has no tombstones."
            )
        return UserRecord(partition_key, data, explicit_hash_key)

    def _place(self, error: SerdeError, topic: str) -> SerdeError:
        return error.in_stream(topic or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisValue:
    """A value and its record's attributes. ``subsequence`` counts from 0 in an aggregated record; otherwise it is 0."""

    value: Any
    partition_key: str
    explicit_hash_key: str | None
    sequence_number: str
    subsequence: int
    arrived: datetime | None


class KinesisDeserializer(RegistryDeserializer):
    """Records of any registered version to values. Thread-safe. Arguments as in :class:`RegistryDeserializer`."""

    __slots__ = ()

    def records(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        stream: str | None = None,
        shard: str | None = None,
        on_error: Callable[[SerdeError, UserRecord], None] | None = None,
    ) -> Iterator[KinesisValue]:
        """Yield the values of the ``Records`` of a ``get_records`` answer, with aggregated records taken apart.

        Raise :class:`SerdeError` with stream, shard and sequence number in its text. With ``on_error``, call that with the
        error and the record instead, and go on with the next record. The registry's errors are always raised.
        """
        for record in records:
            sequence = record["SequenceNumber"]
            try:
                parts = user_records(record)
            except SerdeError as error:
                _report_or_raise(error.in_stream(stream, shard, sequence), plain_record(record), on_error)
                continue
            for number, part in enumerate(parts):
                try:
                    value = self.read(part.data)
                except SerdeError as error:
                    where = f"{sequence}/{number}" if len(parts) > 1 else sequence
                    _report_or_raise(error.in_stream(stream, shard, where), part, on_error)
                    continue
                yield KinesisValue(
                    value=value,
                    partition_key=part.partition_key,
                    explicit_hash_key=part.explicit_hash_key,
                    sequence_number=sequence,
                    subsequence=number,
                    arrived=record.get("ApproximateArrivalTimestamp"),
                )


def aggregated(records: Iterable[UserRecord], aggregator: Aggregator) -> Iterator[dict[str, Any]]:
    """Yield entries of ``put_records``, each an aggregated record. Entries of a shard keep the order of their records."""
    for record in records:
        full = aggregator.add(record)
        if full is not None:
            yield full
    yield from aggregator.flush()


def open_shards(client: "KinesisClient", stream: str) -> list[tuple[int, int]]:
    """Return the hash key ranges of a stream's open shards, for :class:`~penstock.serdes.kinesis.aggregate.Aggregator`.

    ``stream`` is its name, or its ARN, which may be another account's.
    """
    # Closed shards have an ending sequence number.
    return [
        (int(shard["HashKeyRange"]["StartingHashKey"]), int(shard["HashKeyRange"]["EndingHashKey"]))
        for shard in list_shards(client, StreamName.of(stream), ShardFilter={"Type": "AT_LATEST"})
        if "EndingSequenceNumber" not in shard["SequenceNumberRange"]
    ]


def put_all(
    client: "KinesisClient",
    stream: str,
    entries: Iterable[Mapping[str, Any]],
    *,
    attempts: int = KINESIS_WRITE.attempts or 1,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> int:
    """Put records in as few requests as the limits allow, retry throttled records, and return the number of records.

    ``stream`` is its name, or its ARN, which may be another account's. A request has at most 500 records and 5 MiB.
    Throttled records are sent up to ``attempts`` times, after pauses that double and vary by ``jitter`` (from 0 to 1). A
    retried record may then come after later ones of its key. Raise
    :class:`EnvironmentProblem` with the stream, the number of records and the last reason if the retries do not suffice,
    :class:`NotFound` if the stream does not exist, and another :class:`PenstockError` for any other error.
    """
    policy = replace(KINESIS_WRITE, attempts=attempts)
    total = 0
    for batch in _batches(entries):
        total += len(batch)
        request = _Request(client, stream, batch)
        call_with_retries(request.send, policy, when=request.may_pass, sleep=sleep, chance=jitter)
    return total


class _Request:
    """The records of one request, sent until the stream has taken each of them."""

    def __init__(self, client: "KinesisClient", stream: str, batch: Sequence[Mapping[str, Any]]) -> None:
        self._client = client
        self._stream = stream
        self._size = len(batch)
        self._pending = batch
        self._reason = ""
        self._tries = 0

    def send(self) -> None:
        """Send the pending records. Raise :class:`EnvironmentProblem` if some remain pending."""
        self._tries += 1
        self._reason = ""
        self._pending, self._reason = _put(self._client, self._stream, self._pending)
        if self._pending:
            raise EnvironmentProblem(
                f"Stream {self._stream} did not accept {len(self._pending)} of {self._size} records in {self._tries} tries: "
                f"{self._reason}",
                remedy="Add shards, spread the partition keys, or send less.",
            )

    def may_pass(self, _error: Exception) -> bool:
        return self._reason.partition(":")[0] in _RETRIED


def _put(client: "KinesisClient", stream: str, batch: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    with translated_errors(client, f"{len(batch)} records to be put into stream {stream}"):
        try:
            request: Any = {**StreamName.of(stream).arguments, "Records": list(batch)}
            answer: Any = client.put_records(**request)
        except ClientError as error:
            refusal = error.response.get("Error", {})
            if refusal.get("Code") not in _RETRIED:
                raise
            return list(batch), f"{refusal['Code']}: {refusal.get('Message', '')}"
    if not answer["FailedRecordCount"]:
        return [], ""
    failed = [(entry, result) for entry, result in zip(batch, answer["Records"], strict=True) if result.get("ErrorCode")]
    # An error that a retry cannot cure decides.
    worst = next((result for _, result in failed if result["ErrorCode"] not in _RETRIED), failed[-1][1])
    return [entry for entry, _ in failed], f"{worst['ErrorCode']}: {worst.get('ErrorMessage', '')}"


def _batches(entries: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    size = 0
    for entry in entries:
        own = len(entry["Data"]) + len(entry["PartitionKey"].encode())
        if batch and (len(batch) == _MAX_ENTRIES or size + own > _MAX_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += own
    if batch:
        yield batch


def _report_or_raise(
    error: SerdeError, record: UserRecord, on_error: Callable[[SerdeError, UserRecord], None] | None
) -> None:
    if on_error is None:
        raise error from error.__cause__
    on_error(error, record)
