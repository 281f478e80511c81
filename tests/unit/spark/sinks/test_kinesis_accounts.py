"""A stream that is named by its ARN may be another account's, so requests have the ARN."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from penstock.errors import NotFound
from penstock.pipelines import KinesisSink
from penstock.serdes.kinesis.serdes import open_shards, put_all
from penstock.spark.sinks.kinesis import KinesisWriter

ARN = "arn:aws:kinesis:eu-west-1:999999999999:stream/s"
NAMED = {"StreamName": "s", "StreamARN": ARN}


def test_a_stream_of_another_account_is_named_by_its_arn() -> None:
    client = boto3.client("kinesis", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    spark: Any = None
    with Stubber(client) as stub:
        entry = {"Data": b"x", "PartitionKey": "k"}
        put = {**NAMED, "Records": [entry]}
        stub.add_client_error("put_records", "ResourceNotFoundException", "Not there", expected_params=put)
        stub.add_response("list_shards", {"Shards": []}, {**NAMED, "ShardFilter": {"Type": "AT_LATEST"}})
        stub.add_client_error("describe_stream_summary", "ResourceNotFoundException", "Not there", expected_params=NAMED)
        with pytest.raises(NotFound, match=f"1 records to be put into stream {ARN}"):
            put_all(client, ARN, [entry])
        assert open_shards(client, ARN) == []
        with pytest.raises(NotFound, match="stream s of sink k"):
            KinesisWriter(KinesisSink(name="k", stream=ARN), spark, client=client).check()
        stub.assert_no_pending_responses()
