"""Kinesis's aggregated records; the reference is AWS's own aws_kinesis_agg, which writes and reads them too."""

import base64
import hashlib
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from aws_kinesis_agg.aggregator import AggRecord
from aws_kinesis_agg.deaggregator import deaggregate_records
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import given
from hypothesis import strategies as some

from penstock.errors import InvalidInput
from penstock.serdes.errors import DamagedAggregate
from penstock.serdes.kinesis.aggregate import MAGIC, Aggregator, UserRecord, is_aggregate, read_aggregate, write_aggregate

HASHES = some.integers(0, 2**128 - 1).map(str)
KEYS = some.text(some.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
RECORDS = some.lists(some.builds(UserRecord, KEYS, some.binary(max_size=60), HASHES), min_size=1, max_size=20)


def by_aws(data: bytes) -> list[UserRecord]:
    """What AWS's module finds in the bytes."""
    record = {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "sequenceNumber": "1",
            "approximateArrivalTimestamp": 0,
            "partitionKey": "outer",
            "data": base64.b64encode(data),
        }
    }
    results: list[dict[str, Any]] = [part["kinesis"] for part in deaggregate_records(record)]
    assert all(part["aggregated"] for part in results)
    return [
        UserRecord(part["partitionKey"], base64.b64decode(part["data"]), part["explicitHashKey"] or None) for part in results
    ]


@given(RECORDS)
def test_aws_reads_ours(records: list[UserRecord]) -> None:
    data = write_aggregate(records)
    assert by_aws(data) == records
    assert read_aggregate(data) == records


@given(RECORDS)
def test_ours_reads_awss(records: list[UserRecord]) -> None:
    made = AggRecord()
    for record in records:
        assert made.add_user_record(record.partition_key, record.data, record.explicit_hash_key)
    key, explicit, data = made.get_contents()
    assert read_aggregate(data) == records
    aggregator = Aggregator()
    assert [aggregator.add(record) for record in records] == [None] * len(records)
    (entry,) = aggregator.flush()
    assert (entry["PartitionKey"], entry["ExplicitHashKey"]) == (key, explicit)
    assert entry["Data"] == data


def test_without_hash_keys() -> None:
    records = [UserRecord("a", b"1"), UserRecord("b", b"2"), UserRecord("a", b"")]
    assert by_aws(write_aggregate(records)) == read_aggregate(write_aggregate(records)) == records


def test_the_outer_record_goes_where_its_first_record_would_have_gone() -> None:
    aggregator = Aggregator()
    aggregator.add(UserRecord("cust-789", b"1"))
    (entry,) = aggregator.flush()
    assert int(entry["ExplicitHashKey"]) == int.from_bytes(hashlib.md5(b"cust-789").digest(), "big")
    assert list(aggregator.flush()) == []


@pytest.mark.parametrize("limit", [300, 1_000, 1_048_576])
def test_no_aggregated_record_is_too_large(limit: int) -> None:
    aggregator = Aggregator(limit=limit)
    records = [UserRecord(f"key-{number % 7}", bytes(number % 150), str(number)) for number in range(2_000)]
    entries = [full for record in records if (full := aggregator.add(record)) is not None]
    entries += aggregator.flush()
    sizes = [len(entry["Data"]) + len(entry["PartitionKey"]) for entry in entries]
    assert max(sizes) <= limit
    # None that the next record would have fitted into.
    assert all(limit - size < 200 for size in sizes[:-1])
    assert [record for entry in entries for record in by_aws(entry["Data"])] == records


def test_each_shard_has_its_own() -> None:
    half = 2**127
    shards = [(half, 2 * half - 1), (0, half - 1)]
    aggregator = Aggregator(shards=shards)
    records = [UserRecord(f"key-{number}", bytes([number])) for number in range(40)]
    assert all(aggregator.add(record) is None for record in records)
    low, high = aggregator.flush()
    assert int(low["ExplicitHashKey"]) < half <= int(high["ExplicitHashKey"])
    for entry, first, last in ((low, 0, half - 1), (high, half, 2 * half - 1)):
        inside = read_aggregate(entry["Data"])
        places = [int.from_bytes(hashlib.md5(record.partition_key.encode()).digest(), "big") for record in inside]
        assert all(first <= place <= last for place in places)
        assert inside == [record for record in records if record in inside]
    with pytest.raises(InvalidInput, match="No shard has the hash key"):
        Aggregator(shards=[(0, 5)]).add(UserRecord("k", b""))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:5],
        lambda data: MAGIC,
        lambda data: data[:10] + bytes([data[10] ^ 1]) + data[11:],
        lambda data: resealed(b"\xff\xff\xff"),
        # An index beyond the table, and a record without one.
        lambda data: resealed(b"\x0a\x01k\x1a\x05\x08\x07\x1a\x01x"),
        lambda data: resealed(b"\x0a\x01k\x1a\x03\x1a\x01x"),
        lambda data: resealed(b"\x0a\x01k\x1a\x07\x08\x00\x10\x05\x1a\x01x"),
    ],
)
def test_damage_is_said(damage: Any) -> None:
    data = damage(write_aggregate([UserRecord("k", b"some data")]))
    assert is_aggregate(data)
    with pytest.raises(DamagedAggregate, match=f"Record of {len(data)} bytes"):
        read_aggregate(data)


def test_the_compiled_layout_is_that_of_the_proto_file(tmp_path: Path) -> None:
    folder = files("penstock.serdes.kinesis")
    fresh = tmp_path / "fresh.binpb"
    with as_file(folder) as source:
        arguments = [f"-I{source}", f"--descriptor_set_out={fresh}", "aggregated_record.proto"]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *arguments], check=True)
    kept = FileDescriptorSet.FromString(folder.joinpath("aggregated_record.binpb").read_bytes())
    assert kept == FileDescriptorSet.FromString(fresh.read_bytes()), "run 'make descriptors'"


def resealed(body: bytes) -> bytes:
    return MAGIC + body + hashlib.md5(body).digest()


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (UserRecord("", b""), "1 to 256 characters"),
        (UserRecord("k" * 257, b""), "1 to 256 characters"),
        (UserRecord("k", b"", str(2**128)), "below 2"),
        (UserRecord("k", b"", "-1"), "below 2"),
        (UserRecord("k", bytes(1_048_560)), "does not fit"),
    ],
)
def test_records_that_cannot_be(record: UserRecord, says: str) -> None:
    aggregator = Aggregator()
    with pytest.raises(InvalidInput, match=says):
        aggregator.add(record)
    assert list(aggregator.flush()) == []


def test_a_limit_that_kinesis_has_not() -> None:
    with pytest.raises(InvalidInput, match="1 to 1048576"):
        Aggregator(limit=2_000_000)


def test_a_record_that_is_too_large_costs_nothing_that_was_collected_before() -> None:
    aggregator = Aggregator(limit=200)
    first = UserRecord("k", b"kept")
    assert aggregator.add(first) is None
    with pytest.raises(InvalidInput, match="does not fit"):
        aggregator.add(UserRecord("k", bytes(300)))
    (entry,) = aggregator.flush()
    assert [record.data for record in read_aggregate(entry["Data"])] == [b"kept"]
