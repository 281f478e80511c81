"""CloudWatch Logs' groups through boto3, as Terraform's aws_cloudwatch_log_group and the AWS CLI use them."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.every_operation import ACCOUNT

Client = Callable[[str], Any]
RUNS = ["/aws-glue/jobs/error", "/aws-glue/jobs/output"]


def _code(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(refused.value.response["Error"]["Code"])


def test_a_group_as_terraform_makes_reads_changes_and_destroys_it(client: Client) -> None:
    logs = client("logs")
    logs.create_log_group(logGroupName="/app/etl", tags={"team": "ops"})
    assert _code(logs.create_log_group, logGroupName="/app/etl") == "ResourceAlreadyExistsException"
    logs.put_retention_policy(logGroupName="/app/etl", retentionInDays=14)
    (found,) = logs.describe_log_groups(logGroupNamePrefix="/app/")["logGroups"]
    arn = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:/app/etl"
    assert (found["arn"], found["logGroupArn"], found["retentionInDays"]) == (f"{arn}:*", arn, 14)
    assert found["creationTime"] > 1_700_000_000_000
    assert logs.list_tags_for_resource(resourceArn=arn)["tags"] == {"team": "ops"}
    logs.tag_resource(resourceArn=arn, tags={"stage": "dev"})
    logs.untag_resource(resourceArn=arn, tagKeys=["team"])
    assert logs.list_tags_log_group(logGroupName="/app/etl")["tags"] == {"stage": "dev"}
    assert logs.describe_log_streams(logGroupName="/app/etl")["logStreams"] == []
    assert logs.filter_log_events(logGroupName="/app/etl")["events"] == []
    logs.delete_retention_policy(logGroupName="/app/etl")
    assert "retentionInDays" not in logs.describe_log_groups(logGroupNamePrefix="/app/")["logGroups"][0]
    logs.delete_log_group(logGroupName="/app/etl")
    assert logs.describe_log_groups(logGroupNamePrefix="/app/")["logGroups"] == []
    assert _code(logs.delete_log_group, logGroupName="/app/etl") == "ResourceNotFoundException"


def test_groups_are_listed_page_by_page_with_those_of_runs(client: Client) -> None:
    logs = client("logs")
    for name in ("b", "a", "c"):
        logs.create_log_group(logGroupName=name)
    pages = logs.get_paginator("describe_log_groups").paginate(PaginationConfig={"PageSize": 2})
    assert [log_group["logGroupName"] for page in pages for log_group in page["logGroups"]] == [*RUNS, "a", "b", "c"]


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        ("create_log_group", {"logGroupName": RUNS[0]}, "ResourceAlreadyExistsException"),
        ("delete_log_group", {"logGroupName": RUNS[0]}, "InvalidParameterException"),
        ("put_retention_policy", {"logGroupName": RUNS[0], "retentionInDays": 7}, "InvalidParameterException"),
        ("put_retention_policy", {"logGroupName": "own", "retentionInDays": 2}, "InvalidParameterException"),
        ("put_retention_policy", {"logGroupName": "nobody", "retentionInDays": 7}, "ResourceNotFoundException"),
        ("create_log_group", {"logGroupName": "x" * 257}, "InvalidParameterException"),
        ("create_log_group", {"logGroupName": "x", "logGroupClass": "INFREQUENT_ACCESS"}, "InvalidParameterException"),
        ("create_log_group", {"logGroupName": "x", "tags": {"a;b": "c"}}, "InvalidParameterException"),
        ("list_tags_for_resource", {"resourceArn": "arn:aws:s3:::lake"}, "ResourceNotFoundException"),
        ("put_log_events", {"logGroupName": "own", "logStreamName": "s", "logEvents": []}, "UnknownOperationException"),
        ("start_query", {"startTime": 0, "endTime": 1, "queryString": "fields @message"}, "UnknownOperationException"),
    ],
)
def test_what_is_refused(client: Client, operation: str, arguments: dict[str, Any], code: str) -> None:
    logs = client("logs")
    logs.create_log_group(logGroupName="own")
    assert _code(getattr(logs, operation), **arguments) == code
