"""Kinesis's aggregated records: many user records in one, ``F3 89 9A C2 | AggregatedRecord (Protobuf) | MD5 of it``.

Source: https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md. The key of the outer record
decides the shard; the keys of the user records inside have no effect on it.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.serdes.errors import DamagedAggregate

__all__ = [
    "MAGIC",
    "MAX_RECORD",
    "Aggregator",
    "UserRecord",
    "check_keys",
    "is_aggregate",
    "plain_record",
    "read_aggregate",
    "user_records",
    "write_aggregate",
]

MAGIC = b"\xf3\x89\x9a\xc2"
MAX_RECORD = 1_048_576  # bytes of data and partition key, PutRecord's limit
_DIGEST = 16
_MAX_KEY = 256  # characters of a partition key
_HASHES = 1 << 128
_DIGITS = 60  # more than a number below 2**128 has, even with zeros in front


@dataclass(frozen=True, slots=True)
class UserRecord:
    """One record of a producer, before aggregation. ``explicit_hash_key`` is a number below 2**128, as decimal digits."""

    partition_key: str
    data: bytes
    explicit_hash_key: str | None = None


def is_aggregate(data: bytes) -> bool:
    """Return whether ``data`` begins like an aggregated record."""
    return data[:4] == MAGIC


def read_aggregate(data: bytes) -> list[UserRecord]:
    """Return the records inside ``data``, for which :func:`is_aggregate` must be true.

    Raise :class:`DamagedAggregate` if the checksum is wrong, or the rest is not an AggregatedRecord. AWS's client takes such
    bytes for a plain record; but a plain record with a registry's frame never begins like this.
    """
    body, digest = data[4:-_DIGEST], data[-_DIGEST:]
    if len(data) < 4 + _DIGEST or hashlib.md5(body, usedforsecurity=False).digest() != digest:
        raise DamagedAggregate(
            f"Record of {len(data)} bytes begins like an aggregated record, and its checksum is wrong.",
            remedy="It was cut or changed in transit, or its producer does not write aggregated records.",
        )
    message_class, decode_error = _message()
    try:
        aggregate = message_class.FromString(body)
        if not aggregate.IsInitialized():
            # Checked before any record is made: two bytes of input are enough for an empty one.
            raise DamagedAggregate(f"Record of {len(data)} bytes is an aggregated record that lacks required fields.")
        keys, hashes = aggregate.partition_key_table, aggregate.explicit_hash_key_table
        records = [
            UserRecord(
                keys[record.partition_key_index],
                record.data,
                hashes[record.explicit_hash_key_index] if record.HasField("explicit_hash_key_index") else None,
            )
            for record in aggregate.records
        ]
    except (decode_error, IndexError, ValueError) as error:
        raise DamagedAggregate(f"Record of {len(data)} bytes is not an aggregated record: {error}") from None
    return records


def user_records(record: Mapping[str, Any]) -> list[UserRecord]:
    """Return the user records of a record of ``get_records``: one if it is not aggregated. Raise as above."""
    return read_aggregate(record["Data"]) if is_aggregate(record["Data"]) else [plain_record(record)]


def plain_record(record: Mapping[str, Any]) -> UserRecord:
    """Return a record of ``get_records`` as one user record, without deaggregation."""
    return UserRecord(record["PartitionKey"], record["Data"])


def write_aggregate(records: Sequence[UserRecord]) -> bytes:
    """Return the aggregated record of ``records``. A key that several records share is written once."""
    message_class, _ = _message()
    keys: dict[str, int] = {}
    hashes: dict[str, int] = {}
    aggregate = message_class()
    for record in records:
        part = aggregate.records.add()
        part.partition_key_index = keys.setdefault(record.partition_key, len(keys))
        if record.explicit_hash_key is not None:
            part.explicit_hash_key_index = hashes.setdefault(record.explicit_hash_key, len(hashes))
        part.data = record.data
    aggregate.partition_key_table.extend(keys)
    aggregate.explicit_hash_key_table.extend(hashes)
    body = aggregate.SerializeToString()
    return MAGIC + bytes(body) + hashlib.md5(body, usedforsecurity=False).digest()


class Aggregator:
    """Collects records into aggregated ones of at most ``limit`` bytes, each for one shard if ``shards`` are given.

    ``shards`` are the hash key ranges of the stream's open shards, first and last key, as
    :func:`penstock.serdes.kinesis.serdes.open_shards` lists them. Then each record goes to the shard of its own key, and the
    order of a key's records is kept. Without them, all records of one aggregated record go to one shard. Not thread-safe.
    """

    def __init__(self, *, limit: int = MAX_RECORD, shards: Sequence[tuple[int, int]] = ()) -> None:
        if not 0 < limit <= MAX_RECORD:
            raise InvalidInput(
                f"limit={limit} is out of range.", remedy=f"An aggregated record has 1 to {MAX_RECORD} bytes."
            )
        self._limit = limit
        self._ranges = sorted(shards)
        self._open: dict[int, _Batch] = {}

    def add(self, record: UserRecord) -> dict[str, Any] | None:
        """Add a record. Return the full aggregated record that had no room for it, as arguments of ``put_record``, if any.

        Raise :class:`InvalidInput` for a record that is too large by itself, and for keys that Kinesis does not accept.
        """
        check_keys(record)
        shard = self._shard(record)
        batch = self._open.get(shard)
        if batch is not None and batch.size_with(record) <= self._limit:
            batch.add(record)
            return None
        new_batch = _Batch()
        if new_batch.size_with(record) > self._limit:
            raise InvalidInput(
                f"A record of {len(record.data)} bytes does not fit into an aggregated record of {self._limit} bytes.",
                remedy="Send it by itself, or store its content elsewhere and send its address.",
            )
        new_batch.add(record)
        self._open[shard] = new_batch
        return None if batch is None else batch.entry()

    def flush(self) -> Iterator[dict[str, Any]]:
        """What was collected, as arguments of ``put_record``; nothing is kept."""
        batches = [self._open[shard] for shard in sorted(self._open)]
        self._open.clear()
        for batch in batches:
            yield batch.entry()

    def _shard(self, record: UserRecord) -> int:
        if not self._ranges:
            return 0
        hash_key = _hash_key(record)
        for number, (first, last) in enumerate(self._ranges):
            if first <= hash_key <= last:
                return number
        raise InvalidInput(
            f"No shard has the hash key {hash_key}.",
            remedy="The stream was resharded: list its open shards again and give them to a new Aggregator.",
        )


class _Batch:
    """The records of one aggregated record, and its size, updated with each record so that nothing is serialised for it."""

    def __init__(self) -> None:
        self._records: list[UserRecord] = []
        self._keys: dict[str, int] = {}
        self._hashes: dict[str, int] = {}
        self._size = len(MAGIC) + _DIGEST

    def size_with(self, record: UserRecord) -> int:
        """Return the size in bytes with ``record``, including the partition key of the outer record."""
        first = self._records[0] if self._records else record
        return self._size + self._cost(record) + len(first.partition_key.encode())

    def add(self, record: UserRecord) -> None:
        self._size += self._cost(record)
        self._keys.setdefault(record.partition_key, len(self._keys))
        if record.explicit_hash_key is not None:
            self._hashes.setdefault(record.explicit_hash_key, len(self._hashes))
        self._records.append(record)

    def entry(self) -> dict[str, Any]:
        first = self._records[0]
        return {
            "Data": write_aggregate(self._records),
            "PartitionKey": first.partition_key,
            "ExplicitHashKey": str(_hash_key(first)),
        }

    def _cost(self, record: UserRecord) -> int:
        inside, tables = _part(len(record.data)), 0
        for table, key in ((self._keys, record.partition_key), (self._hashes, record.explicit_hash_key)):
            if key is not None:
                inside += 1 + _varint(table.get(key, len(table)))
                tables += 0 if key in table else _part(len(key.encode()))
        return _part(inside) + tables


def _part(size: int) -> int:
    """Return the bytes of a part with its tag and length."""
    return 1 + _varint(size) + size


def _varint(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)


def check_keys(record: UserRecord) -> None:
    """Raise :class:`InvalidInput` for a partition key or an explicit hash key that Kinesis does not accept."""
    if not 1 <= len(record.partition_key) <= _MAX_KEY:
        raise InvalidInput(f"A partition key must have 1 to {_MAX_KEY} characters, not {len(record.partition_key)}.")
    key = record.explicit_hash_key
    if key is not None and not (isinstance(key, str) and key.isdecimal() and len(key) < _DIGITS and int(key) < _HASHES):
        raise InvalidInput(f"Explicit hash key {str(key)[:60]!r} is not a number below 2**128, as decimal digits.")


def _hash_key(record: UserRecord) -> int:
    if record.explicit_hash_key is not None:
        return int(record.explicit_hash_key)
    return int.from_bytes(hashlib.md5(record.partition_key.encode(), usedforsecurity=False).digest(), "big")


@cache
def _message() -> tuple[Any, Any]:
    """Return the class of AggregatedRecord and Protobuf's decoding error."""
    try:
        from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415 - an extra's library
        from google.protobuf.message import DecodeError  # noqa: PLC0415
        from google.protobuf.message_factory import GetMessages  # noqa: PLC0415
    except ImportError:
        raise EnvironmentProblem(
            "Aggregated records need the package protobuf.", remedy="pip install 'penstock[kinesis]'"
        ) from None
    compiled = files(__package__).joinpath("aggregated_record.binpb").read_bytes()
    classes = GetMessages(FileDescriptorSet.FromString(compiled).file)
    return classes["penstock.kinesis.AggregatedRecord"], DecodeError
