"""Records for Kinesis and back, without a stream: what is asked, what is refused, what is sent again."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from penstock.errors import EnvironmentProblem, InvalidInput, NotFound
from penstock.serdes.errors import MissingField, SerdeError
from penstock.serdes.kafka.serdes import GlueSerializer
from penstock.serdes.kinesis.aggregate import Aggregator, UserRecord
from penstock.serdes.kinesis.serdes import KinesisDeserializer, KinesisSerializer, aggregated, put_all
from tests.unit.serdes.fake_registry import FakeRegistry

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
PROPERTIES = {"registry.name": "r", "schemaAutoRegistrationEnabled": "true"}


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def write(registry: FakeRegistry) -> KinesisSerializer:
    return KinesisSerializer(PROPERTIES, schema=SCHEMA, source=registry)


def got(entry: dict[str, Any], sequence: str = "49") -> dict[str, Any]:
    return {"Data": entry["Data"], "PartitionKey": entry["PartitionKey"], "SequenceNumber": sequence}


def test_a_record_is_the_message_of_kafka(registry: FakeRegistry, write: KinesisSerializer) -> None:
    entry = write.record("orders", {"a": 5}, "cust-789", explicit_hash_key="7")
    pinned = registry.latest("r", "orders").id
    assert entry == {
        "Data": GlueSerializer(version_id=pinned, source=registry)({"a": 5}),
        "PartitionKey": "cust-789",
        "ExplicitHashKey": "7",
    }
    assert registry.metadata == {"x-amz-meta-transport": "orders"}
    (found,) = KinesisDeserializer(source=registry).records([got(entry)])
    assert (found.value, found.partition_key, found.sequence_number, found.subsequence) == ({"a": 5}, "cust-789", "49", 0)


def test_aggregated_records_are_taken_apart(registry: FakeRegistry, write: KinesisSerializer) -> None:
    users = [write.user_record("orders", {"a": number}, f"k{number}") for number in range(3)]
    (entry,) = aggregated(users, Aggregator())
    plain = write.record("orders", {"a": 9}, "k9")
    kinesis_values = list(KinesisDeserializer(source=registry).records([got(entry, "1"), got(plain, "2")]))
    assert [(item.sequence_number, item.subsequence, item.partition_key, item.value["a"]) for item in kinesis_values] == [
        ("1", 0, "k0", 0),
        ("1", 1, "k1", 1),
        ("1", 2, "k2", 2),
        ("2", 0, "k9", 9),
    ]


def test_errors_name_stream_shard_and_sequence_number(registry: FakeRegistry, write: KinesisSerializer) -> None:
    with pytest.raises(MissingField, match=r"R\.a is missing.*\(schema r/orders, version .*; stream orders\)"):
        write.record("orders", {}, "k")
    good = write.record("orders", {"a": 1}, "k")
    users = [UserRecord("k", good["Data"]), UserRecord("k", good["Data"][:-1])]
    (entry,) = aggregated(users, Aggregator())
    damaged = {**got(entry, "51"), "Data": entry["Data"][:-1]}
    read = KinesisDeserializer(source=registry)
    refused: list[tuple[SerdeError, UserRecord]] = []
    records = read.records(
        [got(entry, "50"), damaged, got(good, "52")],
        stream="orders",
        shard="shardId-000000000000",
        on_error=lambda error, record: refused.append((error, record)),
    )
    assert [item.sequence_number for item in records] == ["50", "52"]
    (first, part), (second, whole) = refused
    assert (first.reason, first.topic, first.partition, first.offset) == (
        "truncated-payload",
        "orders",
        "shardId-000000000000",
        "50/1",
    )
    assert "schema r/orders, version 1; stream orders, shard shardId-000000000000, sequence number 50/1)" in first.message
    assert (second.reason, part.data, whole.data) == ("damaged-aggregate", users[1].data, damaged["Data"])
    with pytest.raises(SerdeError, match="sequence number 51"):
        list(read.records([damaged], stream="orders"))


def test_what_kinesis_does_not_take(write: KinesisSerializer) -> None:
    with pytest.raises(InvalidInput, match="has no value"):
        write.record("orders", None, "k")
    large = KinesisSerializer(PROPERTIES, schema='"bytes"', source=FakeRegistry())
    with pytest.raises(InvalidInput, match="at most 1048576 are allowed"):
        large.record("orders", bytes(1_048_576), "k")
    raised = KinesisSerializer(PROPERTIES, schema='"bytes"', source=FakeRegistry(), max_record=2_000_000)
    assert len(raised.record("orders", bytes(1_048_576), "k")["Data"]) > 1_048_576
    with pytest.raises(InvalidInput, match="at most 2000000 are allowed, including its key"):
        raised.record("orders", bytes(2_000_000), "k")
    with pytest.raises(InvalidInput, match="max_record=10485761 is out of range"):
        KinesisSerializer(PROPERTIES, schema='"bytes"', source=FakeRegistry(), max_record=10_485_761)


@pytest.mark.parametrize(
    ("key", "hash_key"),
    [("", None), ("k" * 257, None), ("k", "ff"), ("k", str(2**128)), ("k", "9" * 5_000), ("k", 5)],
)
def test_keys_that_kinesis_does_not_take(registry: FakeRegistry, write: KinesisSerializer, key: str, hash_key: Any) -> None:
    with pytest.raises(InvalidInput, match=r"partition key must have 1 to 256|not a number below 2"):
        write.record("orders", {"a": 1}, key, explicit_hash_key=hash_key)


class Stream:
    """Takes what ``refusals`` let through: for each request the error codes by the position of the record."""

    def __init__(self, *refusals: dict[int, str]) -> None:
        self.refusals = list(refusals)
        self.requests: list[list[bytes]] = []

    def put_records(self, *, StreamName: str, Records: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.requests.append([entry["Data"] for entry in Records])
        refused = self.refusals.pop(0) if self.refusals else {}
        answers = [
            {"ErrorCode": refused[number], "ErrorMessage": "Rate exceeded"} if number in refused else {"SequenceNumber": "1"}
            for number in range(len(Records))
        ]
        return {"FailedRecordCount": len(refused), "Records": answers}


def entries(count: int, size: int = 1) -> list[dict[str, Any]]:
    return [{"Data": number.to_bytes(2, "big") + bytes(size), "PartitionKey": "k"} for number in range(count)]


def test_requests_stay_within_the_limits() -> None:
    stream: Any = Stream()
    assert put_all(stream, "s", entries(1_201)) == 1_201
    assert [len(request) for request in stream.requests] == [500, 500, 201]
    large: Any = Stream()
    assert put_all(large, "s", entries(12, 1_000_000)) == 12
    assert [len(request) for request in large.requests] == [5, 5, 2]
    assert put_all(large, "s", []) == 0


def test_what_was_throttled_is_sent_again_after_growing_pauses() -> None:
    throttled = "ProvisionedThroughputExceededException"
    stream: Any = Stream({1: throttled, 3: throttled}, {0: "InternalFailure"}, {0: throttled})
    pauses: list[float] = []
    spread = iter([0.0, 1.0, 0.5])
    sent = entries(4)
    assert put_all(stream, "s", sent, sleep=pauses.append, jitter=lambda: next(spread)) == 4
    data = [entry["Data"] for entry in sent]
    assert stream.requests == [data, [data[1], data[3]], [data[1]], [data[1]]]
    assert pauses == [0.05, 0.2, pytest.approx(0.3)]


def test_giving_up_says_what_is_left() -> None:
    throttled = "ProvisionedThroughputExceededException"
    stream: Any = Stream(*[{0: throttled}] * 9)
    with pytest.raises(
        EnvironmentProblem, match=r"Stream s did not accept 1 of 2 records in 3 tries: Provisioned.*Rate exceeded"
    ):
        put_all(stream, "s", entries(2), attempts=3, sleep=lambda _: None)
    assert len(stream.requests) == 3
    away = boto3.client("kinesis", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(away) as stub:
        # A whole request that is throttled is sent again; one that can never succeed is not.
        stub.add_client_error("put_records", throttled, "Rate exceeded")
        stub.add_client_error("put_records", "ResourceNotFoundException", "Stream s not found")
        with pytest.raises(NotFound, match=r"Stream s not found \(asked for 2 records to be put into stream s at https"):
            put_all(away, "s", entries(2), sleep=lambda _: None)
        stub.assert_no_pending_responses()
    denied: Any = Stream({0: throttled, 1: "KMSAccessDeniedException"})
    with pytest.raises(EnvironmentProblem, match="in 1 tries: KMSAccessDenied"):
        put_all(denied, "s", entries(2), sleep=lambda _: None)
