"""Records of Kinesis in AWS's frame: arguments for boto3's ``put_record(s)``, values of what ``get_records`` answers.

The frame is the one of Kafka, so that AWS's producer and consumer libraries with their schema support read and write the
same records. Aggregated records are read wherever they appear, and written where that is asked for.
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
from penstock.serdes.kinesis.aggregate import MAX_RECORD, Aggregator, UserRecord, check_keys, user_records, whole_record
from penstock.serdes.serializer import RegistrySerializer

if TYPE_CHECKING:
    from types_boto3_kinesis import KinesisClient

__all__ = ["KinesisDeserializer", "KinesisSerializer", "KinesisValue", "aggregated", "open_shards", "put_all"]

_MAX_ENTRIES = 500  # PutRecords: records a request
_LARGEST_RECORD = 10 * MAX_RECORD  # bytes, of a stream whose maximum was raised as far as it goes
_MAX_REQUEST = 5 * 1_048_576  # PutRecords: bytes a request, data and partition keys
_RETRIED = frozenset({"ProvisionedThroughputExceededException", "InternalFailure", "KMSThrottlingException"})


class KinesisSerializer(RegistrySerializer):
    """Values to records; safe for threads. Arguments as in :class:`RegistrySerializer`; the stream stands for the topic.

    ``max_record`` is how many bytes the streams take in a record, its key included: 1 MiB where their maximum was not
    raised, which goes to 10 MiB (https://docs.aws.amazon.com/streams/latest/dev/large-records.html).
    """

    __slots__ = ("_max_record",)

    def __init__(self, *arguments: Any, max_record: int = MAX_RECORD, **settings: Any) -> None:
        if not 0 < max_record <= _LARGEST_RECORD:
            raise InvalidInput(f"Kinesis takes records of at most {_LARGEST_RECORD} bytes, not {max_record}.")
        super().__init__(*arguments, **settings)
        self._max_record = max_record

    def record(self, stream: str, value: Any, partition_key: str, *, explicit_hash_key: str | None = None) -> dict[str, Any]:
        """An entry of ``put_records``, and with ``StreamName`` the arguments of ``put_record``.

        Raises :class:`SerdeError` for what does not fit, and :class:`InvalidInput` for no value (Kinesis has no tombstones),
        keys that Kinesis does not take and a record that is too large.
        """
        user = self.user_record(stream, value, partition_key, explicit_hash_key=explicit_hash_key)
        check_keys(user)
        if len(user.data) + len(partition_key.encode()) > self._max_record:
            raise InvalidInput(
                f"The record has {len(user.data)} bytes; Kinesis takes {self._max_record}, its key included.",
                remedy="Put the content elsewhere and its address here, or raise the stream's maximum and max_record.",
            )
        entry: dict[str, Any] = {"Data": user.data, "PartitionKey": partition_key}
        return entry if explicit_hash_key is None else {**entry, "ExplicitHashKey": explicit_hash_key}

    def user_record(
        self, stream: str, value: Any, partition_key: str, *, explicit_hash_key: str | None = None
    ) -> UserRecord:
        """The same for an :class:`~penstock.serdes.kinesis.aggregate.Aggregator`."""
        data = self.write(value, stream)
        if data is None:
            raise InvalidInput("There is no record without a value in Kinesis.")
        return UserRecord(partition_key, data, explicit_hash_key)

    def _place(self, error: SerdeError, topic: str) -> SerdeError:
        return error.in_stream(topic or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisValue:
    """A value with what its record says. ``subsequence`` counts from 0 within an aggregated record, and is 0 elsewhere."""

    value: Any
    partition_key: str
    explicit_hash_key: str | None
    sequence_number: str
    subsequence: int
    arrived: datetime | None


class KinesisDeserializer(RegistryDeserializer):
    """Records of any registered version to values; safe for threads. Arguments as in :class:`RegistryDeserializer`."""

    __slots__ = ()

    def records(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        stream: str | None = None,
        shard: str | None = None,
        on_error: Callable[[SerdeError, UserRecord], None] | None = None,
    ) -> Iterator[KinesisValue]:
        """The values of what ``get_records`` answered under ``Records``, aggregated ones taken apart.

        Raises :class:`SerdeError` with stream, shard and sequence number in its text, unless ``on_error`` takes it and the
        record: then the next one follows. What the registry raises is raised always.
        """
        for record in records:
            sequence = record["SequenceNumber"]
            try:
                parts = user_records(record)
            except SerdeError as error:
                _hand_over(error.in_stream(stream, shard, sequence), whole_record(record), on_error)
                continue
            for number, part in enumerate(parts):
                try:
                    value = self.read(part.data)
                except SerdeError as error:
                    where = f"{sequence}/{number}" if len(parts) > 1 else sequence
                    _hand_over(error.in_stream(stream, shard, where), part, on_error)
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
    """Entries of ``put_records``, each an aggregated record; those of one shard in the order of their records."""
    for record in records:
        full = aggregator.add(record)
        if full is not None:
            yield full
    yield from aggregator.flush()


def open_shards(client: "KinesisClient", stream: str) -> list[tuple[int, int]]:
    """The ranges of hash keys of a stream's open shards, for an :class:`~penstock.serdes.kinesis.aggregate.Aggregator`."""
    # Those that take no more records have an end.
    return [
        (int(shard["HashKeyRange"]["StartingHashKey"]), int(shard["HashKeyRange"]["EndingHashKey"]))
        for shard in list_shards(client, StreamName(stream), ShardFilter={"Type": "AT_LATEST"})
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
    """Put records by as few requests as the limits allow, those that Kinesis refuses for now again; how many there were.

    A request has at most 500 records and 5 MiB. What was throttled is sent again up to ``attempts`` times, after pauses that
    double and vary by ``jitter`` (from 0 to 1); a record that has to be repeated may then come after later ones of its key.
    Raises :class:`EnvironmentProblem` with the stream, how many records and the last reason where that was not enough, and
    the :class:`PenstockError` of other refusals: :class:`NotFound` where there is no such stream.
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
        """Send what is pending; raises :class:`EnvironmentProblem` where some still is."""
        self._tries += 1
        self._reason = ""
        self._pending, self._reason = _put(self._client, self._stream, self._pending)
        if self._pending:
            raise EnvironmentProblem(
                f"Stream {self._stream} did not take {len(self._pending)} of {self._size} records in {self._tries} tries: "
                f"{self._reason}",
                remedy="Add shards, spread the partition keys, or send less.",
            )

    def may_pass(self, _error: Exception) -> bool:
        return self._reason.partition(":")[0] in _RETRIED


def _put(client: "KinesisClient", stream: str, batch: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    with translated_errors(client, f"{len(batch)} records to be put into stream {stream}"):
        try:
            answer: Any = client.put_records(StreamName=stream, Records=list(batch))  # type: ignore[arg-type]
        except ClientError as error:
            refusal = error.response.get("Error", {})
            if refusal.get("Code") not in _RETRIED:
                raise
            return list(batch), f"{refusal['Code']}: {refusal.get('Message', '')}"
    if not answer["FailedRecordCount"]:
        return [], ""
    failed = [(entry, found) for entry, found in zip(batch, answer["Records"], strict=True) if found.get("ErrorCode")]
    # One that waiting does not help decides.
    worst = next((found for _, found in failed if found["ErrorCode"] not in _RETRIED), failed[-1][1])
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


def _hand_over(error: SerdeError, record: UserRecord, on_error: Callable[[SerdeError, UserRecord], None] | None) -> None:
    if on_error is None:
        raise error from error.__cause__
    on_error(error, record)
