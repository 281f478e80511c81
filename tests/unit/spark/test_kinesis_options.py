"""The Kinesis source's options: Glue's names, the further ones, and that none is passed over."""

from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.spark.sources.kinesis.options import kinesis_options, plain_options
from penstock.spark.sources.kinesis.shards import ReadOptions, Stream

ARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"


def kinesis(**given: Any) -> Any:
    options = Options("the kinesis source", given)
    return kinesis_options(options)


def test_kinesis_options_name_stream_and_bounds() -> None:
    result = kinesis(
        streamARN=ARN,
        startingPosition="Trim_Horizon",
        awsSTSRoleARN="arn:aws:iam::111122223333:role/r",
        awsSTSSessionName="s",
        awsSTSEndpoint="https://sts.vpc",
        maxFetchTimeInMs="500",
        maxFetchRecordsPerShard=7,
        maxRecordPerRead="20000",
        addIdleTimeBetweenReads="true",
        numRetries="0",
        describeShardInterval="2m",
        avoidEmptyBatches="true",
    )
    assert result.stream == Stream(
        name="clicks",
        arn=ARN,
        region="eu-west-1",
        role_arn="arn:aws:iam::111122223333:role/r",
        role_session="s",
        sts_endpoint_url="https://sts.vpc",
    )
    assert result.stream.named.arguments == {"StreamName": "clicks", "StreamARN": ARN}
    assert result.reading == ReadOptions(fetch_seconds=0.5, fetch_records=7, page=10_000, pause=1.0, retries=0)
    assert (result.start, result.list_seconds) == ("TRIM_HORIZON", 120.0)
    assert kinesis(streamARN=ARN, streamName="clicks").stream.named.arguments == {"StreamName": "clicks", "StreamARN": ARN}
    named = kinesis(streamName="111122223333:clicks:1700000000", endpointUrl="https://kinesis.eu-west-1.amazonaws.com")
    assert (named.stream.name, named.stream.region, named.start) == ("clicks", "eu-west-1", "LATEST")
    assert named.reading == ReadOptions()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "does not name a stream"),
        ({"streamARN": ARN, "streamName": "x"}, "name different streams"),
        ({"streamARN": "arn:aws:sqs:eu-west-1:111122223333:q"}, "is not a stream's ARN"),
        ({"streamName": "x", "startingPosition": "first"}, "startingPosition of the kinesis source is 'first'"),
        ({"streamName": "x", "startingPosition": '{"a": 1}'}, "As JSON it is {shard id: position}"),
        ({"streamName": "x", "fanoutConsumerARN": "arn"}, "arn is not a consumer's ARN"),
        ({"streamName": "x", "fanoutConsumerARN": f"{ARN}/consumer/c", "fanoutConsumerName": "c"}, "exclude each other"),
        ({"streamName": "x", "awsSTSEndpoint": "https://sts.vpc"}, "awsSTSEndpoint goes with awsSTSRoleARN"),
        ({"streamName": "x", "awsSTSSessionName": "s"}, "goes with awsSTSRoleARN"),
        ({"streamName": "x", "describeShardInterval": "soon"}, "describeShardInterval is 'soon'"),
    ],
)
def test_what_kinesis_cannot_do_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        kinesis(**given)
    assert why in str(caught.value)


def test_names_in_lower_case_as_spark_passes_them() -> None:
    given = {"streamname": "clicks", "startingposition": '{"shardId-1": {"after": "7"}}', "maxinlinebytes": "999999999"}
    result = plain_options({**given, "fanoutconsumername": "runner", "prefetchlocation": "/shared", "region": "eu-west-1"})
    assert (result.stream.name, result.stream.region, result.consumer_name) == ("clicks", "eu-west-1", "runner")
    assert result.offsets == {"shardId-1": {"after": "7"}}
    assert (result.inline_bytes, result.prefetch_location) == (32 * 1024 * 1024, "/shared")
    with pytest.raises(InvalidInput, match="no option 'streamnam'"):
        plain_options({"streamName": "x", "streamnam": "y"})
