"""Events as AWS's own library reads them: Powertools' data classes, its batch processor and the samples of its tests."""

import json
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes import KafkaEvent, KinesisStreamEvent
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.delivery.batching import Batcher
from penstock.functions.delivery.failures import outcome_of
from penstock.functions.environment import Result
from penstock.functions.kafka.event import KafkaOrigin, Schema, kafka_record
from penstock.functions.kinesis.event import KinesisOrigin, kinesis_record

MSK = "arn:aws:kafka:us-east-1:012345678901:cluster/SalesCluster/abcd1234-abcd-cafe-abab-9876543210ab-4"
BROKERS = ",".join(f"b-{n}.demo-cluster-1.a1bcde.c1.kafka.us-east-1.amazonaws.com:9092" for n in (2, 1))
STREAM = KinesisOrigin(
    arn="arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream", role="arn:aws:iam::123456789012:role/lambda-role"
)


def _record(**more: Any) -> Any:
    given = {
        "topic": "mytopic",
        "partition": 0,
        "offset": 15,
        "timestamp_ms": 1545084650987,
        "timestamp_type": "CREATE_TIME",
        "key": b"recordKey",
        "value": b"Hello, this is a test.",
        "headers": [("headerKey", b"headerValue")],
    }
    return kafka_record(**{**given, **more})


# The example event of https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html.
DOCUMENTED = {
    "eventSource": "aws:kafka",
    "eventSourceArn": MSK,
    "bootstrapServers": BROKERS,
    "records": {
        "mytopic-0": [
            {
                "topic": "mytopic",
                "partition": 0,
                "offset": 15,
                "timestamp": 1545084650987,
                "timestampType": "CREATE_TIME",
                "key": "cmVjb3JkS2V5",
                "value": "SGVsbG8sIHRoaXMgaXMgYSB0ZXN0Lg==",
                "headers": [{"headerKey": [104, 101, 97, 100, 101, 114, 86, 97, 108, 117, 101]}],
            }
        ]
    },
}


def test_an_msk_event_is_the_documented_one_byte_for_byte() -> None:
    event = KafkaOrigin(bootstrap_servers=BROKERS, arn=MSK).event([_record()])
    assert event == json.dumps(DOCUMENTED, separators=(",", ":")).encode()


def test_a_self_managed_event_names_no_cluster() -> None:
    event = json.loads(KafkaOrigin(bootstrap_servers=BROKERS).event([_record()]))
    expected = {name: value for name, value in DOCUMENTED.items() if name != "eventSourceArn"}
    assert event == {**expected, "eventSource": "SelfManagedKafka"}


def test_powertools_reads_kafka_events() -> None:
    records = [
        _record(headers=[("signed", bytes([0, 127, 128, 255])), ("none", None)]),
        _record(partition=1, offset=3, key=None, value=b'{"temperature": 30}', timestamp_type="LOG_APPEND_TIME"),
        _record(offset=16, value=b"\xff", value_schema=Schema(data_format="AVRO", schema_id="1234")),
    ]
    event = KafkaEvent(json.loads(KafkaOrigin(bootstrap_servers=BROKERS, arn=MSK).event(records)))
    assert (event.event_source, event.event_source_arn) == ("aws:kafka", MSK)
    assert event.decoded_bootstrap_servers == BROKERS.split(",")
    first, second, third = event.records
    assert (first.topic, first.partition, first.offset, first.timestamp) == ("mytopic", 0, 15, 1545084650987)
    assert first.decoded_key == b"recordKey"
    assert first.decoded_headers["signed"] == bytes([0, 127, 128, 255])
    assert first.headers[0]["signed"] == [0, 127, -128, -1]
    assert first.headers[1] == {"none": []}
    # Partitions are grouped, in the order of their first records.
    assert (second.partition, second.offset, second.decoded_value) == (0, 16, b"\xff")
    assert second.value_schema_metadata is not None
    assert (second.value_schema_metadata.data_format, second.value_schema_metadata.schema_id) == ("AVRO", "1234")
    assert (third.partition, third.key, third.json_value) == (1, None, {"temperature": 30})
    assert third.timestamp_type == "LOG_APPEND_TIME"


def test_a_tombstone_has_a_null_value() -> None:
    event = json.loads(KafkaOrigin(bootstrap_servers="b:9092").event([_record(value=None)]))
    assert event["records"]["mytopic-0"][0]["value"] is None


def _kinesis(number: int, key: str = "1", data: bytes = b"Hello, this is a test.") -> Any:
    return kinesis_record(
        STREAM,
        shard="shardId-000000000006",
        sequence_number=str(49590338271490256608559692538361571095921575989136588898 + number),
        partition_key=key,
        data=data,
        arrival=1545084650.987,
    )


def test_a_kinesis_event_is_the_documented_one() -> None:
    # https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html
    assert json.loads(STREAM.event([_kinesis(0)])) == {
        "Records": [
            {
                "kinesis": {
                    "kinesisSchemaVersion": "1.0",
                    "partitionKey": "1",
                    "sequenceNumber": "49590338271490256608559692538361571095921575989136588898",
                    "data": "SGVsbG8sIHRoaXMgaXMgYSB0ZXN0Lg==",
                    "approximateArrivalTimestamp": 1545084650.987,
                },
                "eventSource": "aws:kinesis",
                "eventVersion": "1.0",
                "eventID": "shardId-000000000006:49590338271490256608559692538361571095921575989136588898",
                "eventName": "aws:kinesis:record",
                "invokeIdentityArn": "arn:aws:iam::123456789012:role/lambda-role",
                "awsRegion": "us-east-2",
                "eventSourceARN": "arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream",
            }
        ]
    }


def test_powertools_reads_kinesis_events() -> None:
    event = KinesisStreamEvent(json.loads(STREAM.event([_kinesis(0), _kinesis(1, data=b'{"a": 1}')])))
    first, second = event.records
    assert first.kinesis.data_as_text() == "Hello, this is a test."
    assert second.kinesis.data_as_json() == {"a": 1}
    assert first.invoke_identity_arn == "arn:aws:iam::123456789012:role/lambda-role"


def _reported(event_type: EventType, event: dict[str, Any], poison: str) -> Any:
    """The answer of Powertools' batch processor if records with ``poison`` fail."""

    def handle(record: Any) -> None:
        text = record.decoded_value.decode() if event_type is EventType.Kafka else record.kinesis.data_as_text()
        if poison in text:
            raise ValueError(text)

    processor = BatchProcessor(event_type=event_type, raise_on_entire_batch_failure=False)
    return process_partial_response(event=event, record_handler=handle, processor=processor, context=None)


def test_reports_of_powertools_batch_processor_are_understood() -> None:
    origin = KafkaOrigin(bootstrap_servers="b:9092")
    records = [_record(partition=p, offset=o, value=f"{p}/{o}".encode()) for p in (0, 1) for o in (5, 6, 7)]
    answer = _reported(EventType.Kafka, json.loads(origin.event(records)), "1/")
    outcome = outcome_of(Result(request_id="r", answer=answer), records, reports=True)
    assert outcome.lowest == {"mytopic-1": 5}  # type: ignore[union-attr]
    shards = [_kinesis(number, data=f"v{number}".encode()) for number in range(4)]
    answer = _reported(EventType.KinesisDataStreams, json.loads(STREAM.event(shards)), "v2")
    outcome = outcome_of(Result(request_id="r", answer=answer), shards, reports=True)
    assert outcome.lowest == {"shardId-000000000006": shards[2].position}  # type: ignore[union-attr]


_VALUES = st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=40)), min_size=1, max_size=60)


@given(values=_VALUES, limit=st.integers(300, 2000), size=st.integers(1, 20))
def test_no_batch_exceeds_its_bounds_and_none_is_lost(values: list[tuple[int, bytes]], limit: int, size: int) -> None:
    origin = KafkaOrigin(bootstrap_servers="b:9092")
    batcher = Batcher(size=size, window=0.0, envelope=len(origin.event([])), max_bytes=limit)
    records = [_record(partition=p, offset=o, value=value, headers=[]) for o, (p, value) in enumerate(values)]
    fitting = [record for record in records if batcher.fits(record)]
    for record in fitting:
        batcher.add(record, 0.0)
    taken = []
    while batcher.due(0.0):
        batch = batcher.take()
        assert 1 <= len(batch) <= size
        assert len(origin.event(batch)) <= limit
        taken += batch
    assert taken == fitting
    assert len(batcher) == 0
    assert all(len(origin.event([record])) > limit - 64 for record in records if record not in fitting)


def test_a_batch_waits_for_its_window_count_or_size() -> None:
    batcher = Batcher(size=3, window=5.0, envelope=60, max_bytes=1000)
    assert not batcher.due(0.0)
    assert batcher.due_in(0.0) is None
    batcher.add(_record(), 10.0)
    assert not batcher.due(14.9)
    assert batcher.due_in(12.0) == 3.0
    assert batcher.due(15.0)
    batcher.add(_record(offset=16), 11.0)
    batcher.add(_record(offset=17), 11.0)
    assert batcher.full
    assert batcher.due(11.0)
    assert len(batcher.take()) == 3
    batcher.add(_record(value=b"x" * 700), 20.0)
    assert batcher.due(20.0)
