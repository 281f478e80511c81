"""Streams and shards as AWS describes them: lineage, hash key ranges, sequence numbers, retention and limits.

https://docs.aws.amazon.com/kinesis/latest/APIReference. Without I/O; calls are serialised by the server's lock.
"""

import base64
import hashlib
import json
import time
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ACCOUNT", "KinesisError", "Shard", "Stream"]

ACCOUNT = "000000000000"
REGION = "us-east-1"
_FIRST_NUMBER = 49590338271490256608559692538361571095921575989136588898
_HASHES = 1 << 128
_ITERATOR_SECONDS = 300
_MAX_RECORD = 1_048_576


class KinesisError(Exception):
    """An error as the service answers it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(kw_only=True)
class Shard:
    """A shard; ``numbers`` are the sequence numbers of ``records``, which retention takes from the front."""

    number: int
    first: int
    last: int
    starting: int
    parents: tuple[str, ...] = ()
    ending: int | None = None
    numbers: list[int] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    served: int = 0
    pushed: int = 0
    reads: deque[float] = field(default_factory=deque)
    writes: deque[float] = field(default_factory=deque)

    @property
    def id(self) -> str:
        """Return the shard's id."""
        return f"shardId-{self.number:012}"

    def describe(self) -> dict[str, Any]:
        """Return the shard as ListShards has it."""
        sequence = {"StartingSequenceNumber": str(self.starting)}
        if self.ending is not None:
            sequence["EndingSequenceNumber"] = str(self.ending)
        parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), self.parents, strict=False))
        keys = {"StartingHashKey": str(self.first), "EndingHashKey": str(self.last)}
        return {"ShardId": self.id, "HashKeyRange": keys, "SequenceNumberRange": sequence, **parents}

    def after(self, number: int, limit: int) -> tuple[list[dict[str, Any]], int, bool]:
        """Return up to ``limit`` records after ``number``, the number behind them, and whether that is the tip."""
        at = bisect_right(self.numbers, number)
        records = self.records[at : at + limit]
        return records, (self.numbers[at + len(records) - 1] if records else number), at + len(records) == len(self.numbers)


class Stream:
    """One stream. ``reads`` and ``writes`` a second and shard are limited if they are set."""

    def __init__(self, name: str, shards: int) -> None:
        self.name = name
        self.arn = f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/{name}"
        self.created = time.time()
        self.consumers: dict[str, dict[str, Any]] = {}
        self.shards: dict[str, Shard] = {}
        self.reads: int | None = None
        self.writes: int | None = None
        self._number = _FIRST_NUMBER
        for number in range(shards):
            self._add(number * _HASHES // shards, (number + 1) * _HASHES // shards - 1, ())

    def next_number(self) -> int:
        """Return a sequence number above all others."""
        self._number += 2
        return self._number

    def shard(self, name: str) -> Shard:
        """Return a shard by its id."""
        if name not in self.shards:
            raise KinesisError("ResourceNotFoundException", f"Shard {name} in stream {self.name} does not exist")
        return self.shards[name]

    def children(self, shard: Shard) -> list[dict[str, Any]]:
        """Return the shards that a closed one was split or merged into, as answers have them."""
        return [
            {"ShardId": item.id, "ParentShards": list(item.parents), "HashKeyRange": item.describe()["HashKeyRange"]}
            for item in self.shards.values()
            if shard.id in item.parents
        ]

    def split(self, name: str, hash_key: int) -> None:
        """Split a shard at ``hash_key``, the first of the second child."""
        shard = self._open(name)
        if not shard.first < hash_key <= shard.last:
            raise KinesisError("InvalidArgumentException", f"{hash_key} is not inside shard {name}")
        self._close(shard)
        self._add(shard.first, hash_key - 1, (name,))
        self._add(hash_key, shard.last, (name,))

    def merge(self, name: str, adjacent: str) -> None:
        """Merge two neighbours."""
        one, two = self._open(name), self._open(adjacent)
        if one.last + 1 != two.first and two.last + 1 != one.first:
            raise KinesisError("InvalidArgumentException", f"Shards {name} and {adjacent} are not adjacent")
        self._close(one)
        self._close(two)
        self._add(min(one.first, two.first), max(one.last, two.last), (name, adjacent))

    def expire(self, name: str, count: int) -> None:
        """Let retention take a shard's first ``count`` records, and a closed shard that has none left."""
        shard = self.shard(name)
        del shard.numbers[:count], shard.records[:count]
        if shard.ending is not None and not shard.numbers:
            del self.shards[name]

    def put(self, data: bytes, key: str, explicit: str | None) -> tuple[str, str]:
        """Store a record; return the ids of its shard and the record."""
        if len(data) + len(key.encode()) > _MAX_RECORD:
            raise KinesisError("ValidationException", "Record is larger than 1048576 bytes")
        hash_key = int(explicit) if explicit else int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest())
        shard = next(item for item in self.shards.values() if item.ending is None and item.first <= hash_key <= item.last)
        _limit(shard.writes, self.writes, f"Rate exceeded for shard {shard.id}")
        number = self.next_number()
        shard.numbers.append(number)
        shard.records.append(
            {
                "SequenceNumber": str(number),
                "ApproximateArrivalTimestamp": round(time.time(), 3),
                "Data": base64.b64encode(data).decode(),
                "PartitionKey": key,
            }
        )
        return shard.id, str(number)

    def position(self, shard: Shard, how: dict[str, Any]) -> int:
        """Return the number after which a position of a request begins."""
        iterator_type = how.get("ShardIteratorType") or how.get("Type")
        if iterator_type == "TRIM_HORIZON":
            return 0
        if iterator_type == "LATEST":
            return self.next_number()
        if iterator_type == "AT_TIMESTAMP":
            early = [record for record in shard.records if record["ApproximateArrivalTimestamp"] < float(how["Timestamp"])]
            return int(early[-1]["SequenceNumber"]) if early else 0
        number = int(how.get("StartingSequenceNumber") or how["SequenceNumber"])
        return number - 1 if iterator_type == "AT_SEQUENCE_NUMBER" else number

    def iterator(self, shard: Shard, number: int) -> str:
        """Return an iterator's token, valid for five minutes."""
        return base64.b64encode(json.dumps([self.name, shard.id, number, time.time()]).encode()).decode()

    def get(self, shard: Shard, number: int, issued: float, limit: int) -> dict[str, Any]:
        """Return the answer of GetRecords."""
        if time.time() - issued > _ITERATOR_SECONDS:
            raise KinesisError("ExpiredIteratorException", "Iterator expired")
        _limit(shard.reads, self.reads, f"Rate exceeded for shard {shard.id} in stream {self.name}")
        records, reached, tip = shard.after(number, limit)
        shard.served += len(records)
        answer: dict[str, Any] = {"Records": records, "MillisBehindLatest": behind(records, tip=tip)}
        if tip and shard.ending is not None:
            return {**answer, "ChildShards": self.children(shard)}
        return {**answer, "NextShardIterator": self.iterator(shard, reached)}

    def _add(self, first: int, last: int, parents: tuple[str, ...]) -> None:
        number = max((item.number for item in self.shards.values()), default=-1) + 1
        shard = Shard(number=number, first=first, last=last, starting=self.next_number(), parents=parents)
        self.shards[shard.id] = shard

    def _open(self, name: str) -> Shard:
        shard = self.shard(name)
        if shard.ending is not None:
            raise KinesisError("InvalidArgumentException", f"Shard {name} has already been merged or split")
        return shard

    def _close(self, shard: Shard) -> None:
        shard.ending = self.next_number()


def behind(records: list[dict[str, Any]], *, tip: bool) -> int:
    """Return MillisBehindLatest after ``records``."""
    if tip:
        return 0
    return max(1, round((time.time() - records[-1]["ApproximateArrivalTimestamp"]) * 1000)) if records else 1


def _limit(calls: deque[float], most: int | None, message: str) -> None:
    now = time.monotonic()
    while calls and calls[0] <= now - 1:
        calls.popleft()
    if most is not None and len(calls) >= most:
        raise KinesisError("ProvisionedThroughputExceededException", message)
    calls.append(now)
