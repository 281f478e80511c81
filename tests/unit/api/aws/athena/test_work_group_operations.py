"""Work groups as boto3 sees them, and what they do to the statements in them."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.query.service import QueryService
from tests.unit.api.aws.athena.conftest import Run
from tests.unit.api.aws.loopback import ACCOUNT
from tests.unit.query.lake_of_flights import Lake

OWN = {"OutputLocation": "s3://lake/team/"}
IN_TEAM = {"WorkGroup": "team"}
ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) a(x), UNNEST(sequence(1, 10000)) b(y), "
    "UNNEST(sequence(1, 10000)) c(z) WHERE x * y * z = -1"
)


def arn(name: str = "team", account: str = ACCOUNT) -> str:
    return f"arn:aws:athena:us-east-1:{account}:workgroup/{name}"


def code(refused: pytest.ExceptionInfo[ClientError]) -> str:
    return str(refused.value.response["Error"]["Code"])


def test_the_built_in_work_group_is_there_from_the_start(athena: Any) -> None:
    group = athena.get_work_group(WorkGroup="primary")["WorkGroup"]
    configuration = group["Configuration"]
    assert (group["State"], configuration["EnforceWorkGroupConfiguration"]) == ("ENABLED", False)
    assert configuration["ResultConfiguration"] == {"OutputLocation": "s3://lake/athena-results/"}
    assert configuration["EngineVersion"]["EffectiveEngineVersion"] == "Athena engine version 3"
    with pytest.raises(ClientError, match="primary cannot be deleted"):
        athena.delete_work_group(WorkGroup="primary", RecursiveDeleteOption=True)
    with pytest.raises(ClientError, match="already created"):
        athena.create_work_group(Name="primary")
    athena.update_work_group(WorkGroup="primary", Description="ours")
    assert athena.get_work_group(WorkGroup="primary")["WorkGroup"]["Description"] == "ours"


def test_a_work_group_is_kept_as_it_was_given(athena: Any) -> None:
    configuration = {
        "ResultConfiguration": {
            **OWN,
            "EncryptionConfiguration": {"EncryptionOption": "SSE_KMS", "KmsKey": "alias/k"},
            "ExpectedBucketOwner": ACCOUNT,
            "AclConfiguration": {"S3AclOption": "BUCKET_OWNER_FULL_CONTROL"},
        },
        "EnforceWorkGroupConfiguration": False,
        "PublishCloudWatchMetricsEnabled": False,
        "BytesScannedCutoffPerQuery": 10_000_000,
        "RequesterPaysEnabled": True,
        "EngineVersion": {"SelectedEngineVersion": "Athena engine version 3"},
    }
    athena.create_work_group(Name="team", Description="the team", Configuration=configuration)
    result = athena.get_work_group(WorkGroup="team")["WorkGroup"]
    assert (result["Name"], result["Description"], result["State"]) == ("team", "the team", "ENABLED")
    kept = {name: result["Configuration"][name] for name in configuration}
    effective = {"EffectiveEngineVersion": "Athena engine version 3"}
    assert kept == {**configuration, "EngineVersion": {**configuration["EngineVersion"], **effective}}  # type: ignore[dict-item]


def test_an_update_changes_what_it_names(athena: Any) -> None:
    encryption = {"EncryptionOption": "SSE_S3"}
    athena.create_work_group(
        Name="team",
        Configuration={
            "ResultConfiguration": {**OWN, "EncryptionConfiguration": encryption, "ExpectedBucketOwner": ACCOUNT},
            "BytesScannedCutoffPerQuery": 20_000_000,
        },
    )
    updates = {
        "ResultConfigurationUpdates": {"RemoveEncryptionConfiguration": True, "OutputLocation": "s3://lake/other/"},
        "RemoveBytesScannedCutoffPerQuery": True,
        "RequesterPaysEnabled": True,
    }
    athena.update_work_group(WorkGroup="team", State="DISABLED", ConfigurationUpdates=updates)
    result = athena.get_work_group(WorkGroup="team")["WorkGroup"]
    changed = result["Configuration"]
    assert result["State"] == "DISABLED"
    assert changed["ResultConfiguration"] == {"OutputLocation": "s3://lake/other/", "ExpectedBucketOwner": ACCOUNT}
    assert "BytesScannedCutoffPerQuery" not in changed
    assert (changed["RequesterPaysEnabled"], changed["EnforceWorkGroupConfiguration"]) == (True, True)
    both = {"ResultConfigurationUpdates": {"RemoveOutputLocation": True, "OutputLocation": "s3://lake/x/"}}
    with pytest.raises(ClientError, match="OutputLocation is both given and removed"):
        athena.update_work_group(WorkGroup="team", ConfigurationUpdates=both)


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({"ResultConfiguration": {"EncryptionConfiguration": {"EncryptionOption": "CSE_KMS", "KmsKey": "k"}}}, "CSE_KMS"),
        ({"ResultConfiguration": {"EncryptionConfiguration": {"EncryptionOption": "SSE_KMS"}}}, "needs a KmsKey"),
        ({"ResultConfiguration": {"ExpectedBucketOwner": "444455556666"}}, "ExpectedBucketOwner is 444455556666"),
        ({"EngineVersion": {"SelectedEngineVersion": "PySpark engine version 3"}}, "PySpark engine version 3"),
        ({"ManagedQueryResultsConfiguration": {"Enabled": True}, "ResultConfiguration": OWN}, "managed query results"),
        ({"ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/reader"}, "ExecutionRole"),
        ({"EngineConfiguration": {"MaxConcurrentDpus": 5}}, "EngineConfiguration"),
        ({"IdentityCenterConfiguration": {"EnableIdentityCenter": True}}, "IdentityCenter"),
        ({"CustomerContentEncryptionConfiguration": {"KmsKey": "alias/k"}}, "CustomerContentEncryptionConfiguration"),
    ],
)
def test_what_cannot_be_met_is_refused_by_name(athena: Any, configuration: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=said) as refused:
        athena.create_work_group(Name="team", Configuration=configuration)
    assert code(refused) == "InvalidRequestException"
    assert [work_group["Name"] for work_group in athena.list_work_groups()["WorkGroups"]] == ["primary"]


def test_work_groups_are_listed_by_name_and_in_pages(athena: Any) -> None:
    for name in ("zebra", "alpha", "team"):
        athena.create_work_group(Name=name)
    names: list[list[str]] = []
    token = None
    while True:
        answer = athena.list_work_groups(MaxResults=2, **({"NextToken": token} if token else {}))
        names.append([work_group["Name"] for work_group in answer["WorkGroups"]])
        token = answer.get("NextToken")
        if token is None:
            break
    assert names == [["alpha", "primary"], ["team", "zebra"]]
    with pytest.raises(ClientError, match="NextToken") as refused:
        athena.list_work_groups(NextToken="nonsense")
    assert code(refused) == "InvalidRequestException"


def test_tags_are_those_of_the_work_group(athena: Any) -> None:
    athena.create_work_group(Name="team", Tags=[{"Key": "cost", "Value": "1"}])
    athena.tag_resource(ResourceARN=arn(), Tags=[{"Key": "owner", "Value": "ana"}, {"Key": "cost", "Value": "2"}])
    athena.untag_resource(ResourceARN=arn(), TagKeys=["owner", "none"])
    assert athena.list_tags_for_resource(ResourceARN=arn())["Tags"] == [{"Key": "cost", "Value": "2"}]
    for other in (arn("nobody"), arn(account="444455556666"), "no arn", arn().replace("workgroup", "capacity-reservation")):
        with pytest.raises(ClientError) as refused:
            athena.list_tags_for_resource(ResourceARN=other)
        assert code(refused) == "ResourceNotFoundException"
    with pytest.raises(ClientError, match="51 tags"):
        athena.tag_resource(ResourceARN=arn(), Tags=[{"Key": f"k{n}", "Value": ""} for n in range(51)])


def test_an_enforced_location_is_that_of_the_work_group(athena: Any, run: Run) -> None:
    athena.create_work_group(Name="team", Configuration={"ResultConfiguration": OWN})
    asked = {"ResultConfiguration": {"OutputLocation": "s3://lake/mine/"}}
    result = run("SELECT 1", **IN_TEAM, **asked)
    assert (result["Status"]["State"], result["WorkGroup"]) == ("SUCCEEDED", "team")
    assert result["ResultConfiguration"]["OutputLocation"].startswith("s3://lake/team/")
    updates = {"EnforceWorkGroupConfiguration": False}
    athena.update_work_group(WorkGroup="team", ConfigurationUpdates=updates)
    assert run("SELECT 1", **IN_TEAM, **asked)["ResultConfiguration"]["OutputLocation"].startswith("s3://lake/mine/")
    assert run("SELECT 1", **IN_TEAM)["ResultConfiguration"]["OutputLocation"].startswith("s3://lake/team/")


def test_a_statement_needs_a_location_and_a_work_group_that_is_enabled(athena: Any) -> None:
    athena.create_work_group(Name="team")
    refused_acts: list[tuple[Callable[[], Any], str]] = [
        (lambda: athena.start_query_execution(QueryString="SELECT 1", **IN_TEAM), "No output location provided"),
        (lambda: athena.start_query_execution(QueryString="SELECT 1", WorkGroup="none"), "WorkGroup none is not found"),
        (lambda: athena.list_query_executions(WorkGroup="none"), "WorkGroup none is not found"),
        (lambda: athena.list_databases(CatalogName="AwsDataCatalog", WorkGroup="none"), "WorkGroup none is not found"),
    ]
    for act, said in refused_acts:
        with pytest.raises(ClientError, match=said) as refused:
            act()
        assert code(refused) == "InvalidRequestException"
    updates = {"ResultConfigurationUpdates": OWN}
    athena.update_work_group(WorkGroup="team", State="DISABLED", ConfigurationUpdates=updates)
    with pytest.raises(ClientError, match="WorkGroup team is disabled"):
        athena.start_query_execution(QueryString="SELECT 1", **IN_TEAM)


def test_a_statement_that_would_read_too_much_is_cancelled(athena: Any, service: QueryService, run: Run) -> None:
    # Athena's smallest cutoff is 10 MB, so a smaller one is set behind the API.
    service.work_groups.change("primary", lambda old: replace(old, settings=replace(old.settings, bytes_cutoff=100)))
    context = {"QueryExecutionContext": {"Database": "flights_db"}}
    result = run("SELECT sum(n) FROM numbers", **context)["Status"]
    assert (result["State"], result["StateChangeReason"]) == ("CANCELLED", "Bytes scanned limit was exceeded")
    assert run("SELECT 1", **context)["Status"]["State"] == "SUCCEEDED"


def test_managed_results_have_no_location_and_are_read_through_athena(athena: Any, lake: Lake, run: Run) -> None:
    athena.create_work_group(Name="team", Configuration={"ManagedQueryResultsConfiguration": {"Enabled": True}})
    with pytest.raises(ClientError, match="takes no ResultConfiguration"):
        athena.start_query_execution(QueryString="SELECT 1", ResultConfiguration=OWN, **IN_TEAM)
    result = run("SELECT 1 AS one", **IN_TEAM)
    assert result["ManagedQueryResultsConfiguration"] == {"Enabled": True}
    assert "ResultConfiguration" not in result
    rows = athena.get_query_results(QueryExecutionId=result["QueryExecutionId"])["ResultSet"]["Rows"]
    assert rows == [{"Data": [{"VarCharValue": "one"}]}, {"Data": [{"VarCharValue": "1"}]}]


def test_a_work_group_is_deleted_when_it_is_empty_or_with_what_is_in_it(athena: Any, run: Run) -> None:
    athena.create_work_group(Name="team", Configuration={"ResultConfiguration": OWN})
    athena.create_work_group(Name="empty")
    athena.delete_work_group(WorkGroup="empty")
    done = run("SELECT 1", **IN_TEAM)["QueryExecutionId"]
    with pytest.raises(ClientError, match="team is not empty"):
        athena.delete_work_group(WorkGroup="team")
    saved = athena.create_named_query(Name="q", Database="d", QueryString="SELECT 1", **IN_TEAM)["NamedQueryId"]
    athena.create_prepared_statement(StatementName="by_id", QueryStatement="SELECT ?", **IN_TEAM)
    running = athena.start_query_execution(QueryString=ENDLESS, **IN_TEAM)["QueryExecutionId"]
    athena.delete_work_group(WorkGroup="team", RecursiveDeleteOption=True)
    gone: list[Callable[[], Any]] = [
        lambda: athena.get_work_group(WorkGroup="team"),
        lambda: athena.get_query_execution(QueryExecutionId=done),
        lambda: athena.get_named_query(NamedQueryId=saved),
        lambda: athena.list_prepared_statements(**IN_TEAM),
    ]
    for act in gone:
        with pytest.raises(ClientError, match="not found"):
            act()
    deadline = time.monotonic() + 30
    while athena.get_query_execution(QueryExecutionId=running)["QueryExecution"]["Status"]["State"] != "CANCELLED":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_engine_versions_are_listed(athena: Any) -> None:
    listed = [engine_version["SelectedEngineVersion"] for engine_version in athena.list_engine_versions()["EngineVersions"]]
    assert listed == ["AUTO", "Athena engine version 3", "Spark SQL engine version 4"]
