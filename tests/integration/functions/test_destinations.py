"""On-failure destinations of AWS's services on a stand-in of them, in the forms that Lambda gives its documents."""

import json
from typing import Any

import boto3
import pytest

from penstock.functions.delivery.destinations import open_destination
from penstock.functions.delivery.steps import RETRIES, Discard, Failed
from penstock.functions.errors import DestinationUnavailable
from penstock.functions.kafka.event import KafkaOrigin, kafka_record
from penstock.testing.kinesis import KinesisStandIn

ORIGIN = KafkaOrigin(bootstrap_servers="b:9092", arn="arn:aws:kafka:us-east-1:123456789012:cluster/c/1")
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:f"


def _record(partition: int, offset: int) -> Any:
    return kafka_record(
        topic="t",
        partition=partition,
        offset=offset,
        timestamp_ms=1573691884835 + offset,
        timestamp_type="CREATE_TIME",
        key=None,
        value=b"value",
    )


DISCARD = Discard(
    records=[_record(0, 5), _record(0, 6), _record(1, 2)],
    condition=RETRIES,
    invokes=3,
    failure=Failed(request_id="316aa6d0", error={"errorType": "ValueError", "errorMessage": "bad"}),
)
# https://docs.aws.amazon.com/lambda/latest/dg/kafka-on-failure.html, with responsePayload of our own.
DOCUMENT = {
    "requestContext": {
        "requestId": "316aa6d0",
        "functionArn": FUNCTION,
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 3,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "version": "1.0",
    "KafkaBatchInfo": {
        "batchSize": 3,
        "eventSourceArn": ORIGIN.arn,
        "bootstrapServers": "b:9092",
        "payloadSize": len(ORIGIN.event(DISCARD.records)),
        "recordsInfo": {
            "t-0": {
                "firstRecordOffset": "5",
                "lastRecordOffset": "6",
                "firstRecordTimestamp": "2019-11-14T00:38:04.840Z",
                "lastRecordTimestamp": "2019-11-14T00:38:04.841Z",
            },
            "t-1": {
                "firstRecordOffset": "2",
                "lastRecordOffset": "2",
                "firstRecordTimestamp": "2019-11-14T00:38:04.837Z",
                "lastRecordTimestamp": "2019-11-14T00:38:04.837Z",
            },
        },
    },
    "responsePayload": {"errorType": "ValueError", "errorMessage": "bad"},
}


@pytest.fixture
def aws(kinesis: KinesisStandIn, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes clients of the stand-in, at which everything that reads the environment points too."""
    names = {"URL": kinesis.endpoint_url}
    monkeypatch.setenv("AWS_ENDPOINT_URL", names["URL"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTING")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return lambda service: boto3.session.Session().client(service, region_name="us-east-1")


def _put(text: str) -> None:
    destination = open_destination(text, origin=ORIGIN, function_arn=FUNCTION, mapping_id="the-mapping")
    destination.put(DISCARD)
    destination.close()


def _without_time(document: dict[str, Any]) -> dict[str, Any]:
    assert document.pop("timestamp").endswith("Z")
    return document


@pytest.mark.parametrize("text", ["arn:aws:s3:::fn-bucket", "s3://fn-bucket/some/prefix/"])
def test_a_bucket_gets_the_whole_event(aws: Any, text: str) -> None:
    s3 = aws("s3")
    s3.create_bucket(Bucket="fn-bucket")
    before = {item["Key"] for item in s3.list_objects_v2(Bucket="fn-bucket").get("Contents", [])}
    _put(text)
    (key,) = {item["Key"] for item in s3.list_objects_v2(Bucket="fn-bucket")["Contents"]} - before
    assert key.removeprefix("some/prefix/").startswith("aws/lambda/the-mapping/2")
    assert key.startswith("some/prefix/") == text.startswith("s3:")
    stored = json.loads(s3.get_object(Bucket="fn-bucket", Key=key)["Body"].read())
    assert json.loads(stored.pop("payload")) == json.loads(ORIGIN.event(DISCARD.records))
    assert _without_time(stored) == DOCUMENT


def test_a_queue_and_a_topic_get_where_the_records_are(aws: Any) -> None:
    sqs, sns = aws("sqs"), aws("sns")
    url = sqs.create_queue(QueueName="fn-queue")["QueueUrl"]
    topic = sns.create_topic(Name="fn-topic")["TopicArn"]
    queue = "arn:aws:sqs:us-east-1:123456789012:fn-queue"
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes={"RawMessageDelivery": "true"})
    for text in (queue, topic):
        _put(text)
        (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        assert _without_time(json.loads(message["Body"])) == DOCUMENT


def test_what_is_not_there_takes_nothing(aws: Any) -> None:
    for text in ("s3://fn-no-bucket", "arn:aws:sqs:us-east-1:123456789012:fn-no-queue"):
        with pytest.raises(DestinationUnavailable, match="refused failed records"):
            _put(text)
