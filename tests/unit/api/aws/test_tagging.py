"""The Resource Groups Tagging API through boto3, over resources that their own services' clients made and tagged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.lake.objects.policies import BucketSettings
from tests.unit.api.aws.every_operation import ACCOUNT

Client = Callable[[str], Any]
GLUE = f"arn:aws:glue:us-east-1:{ACCOUNT}"
OPS = {"team": "ops"}


@pytest.fixture
def tagging(client: Client, tmp_path: Path) -> Any:
    glue = client("glue")
    glue.create_database(DatabaseInput={"Name": "air"}, Tags=OPS)
    glue.create_database(DatabaseInput={"Name": "untagged"})
    glue.create_registry(RegistryName="shop", Tags={"team": "data"})
    schema = {"RegistryId": {"RegistryName": "shop"}, "DataFormat": "AVRO", "SchemaDefinition": '"int"'}
    glue.create_schema(SchemaName="order", **schema, Tags={"team": "ops", "stage": "dev"})
    glue.create_workflow(Name="nightly", Tags=OPS)
    glue.create_data_quality_ruleset(Name="checks", Ruleset="Rules = [ RowCount > 0 ]", Tags=OPS)
    client("athena").create_work_group(Name="etl", Tags=[{"Key": "team", "Value": "ops"}])
    own = {"catalog-id": ACCOUNT}
    client("athena").create_data_catalog(Name="own", Type="GLUE", Parameters=own, Tags=[{"Key": "team", "Value": "ops"}])
    client("logs").create_log_group(logGroupName="/app", tags=OPS)
    client("secretsmanager").create_secret(Name="db", SecretString="x", Tags=[{"Key": "team", "Value": "ops"}])
    BucketSettings(tmp_path / "lakes").put("lake", "tagging", '{"TagSet": [{"Key": "team", "Value": "ops"}]}')
    return client("resourcegroupstaggingapi")


def _names(tagging: Any, **asked: Any) -> list[str]:
    pages = tagging.get_paginator("get_resources").paginate(**asked)
    return [
        resource_tag_mapping["ResourceARN"].split(":", 5)[5]
        for page in pages
        for resource_tag_mapping in page["ResourceTagMappingList"]
    ]


def test_resources_of_all_services_are_found_by_their_tags(tagging: Any) -> None:
    ops = [{"Key": "team", "Values": ["ops"]}]
    names = _names(tagging, TagFilters=ops, ResourcesPerPage=2)
    secret = next(name for name in names if name.startswith("secret:db-"))
    assert names == [
        *("datacatalog/own", "workgroup/etl", "dataQualityRuleset/checks"),
        *("database/air", "schema/shop/order", "workflow/nightly"),
        *("log-group:/app", "lake", secret),
    ]
    assert _names(tagging, TagFilters=[*ops, {"Key": "stage"}]) == ["schema/shop/order"]
    assert _names(tagging, ResourceTypeFilters=["glue:registry"]) == ["registry/shop"]
    assert _names(tagging, ResourceTypeFilters=["s3", "logs:log-group"]) == ["log-group:/app", "lake"]
    assert _names(tagging, ResourceARNList=[f"{GLUE}:database/air"]) == ["database/air"]
    assert tagging.get_tag_keys()["TagKeys"] == ["stage", "team"]
    assert tagging.get_tag_values(Key="team")["TagValues"] == ["data", "ops"]


def test_tags_are_changed_by_the_services_own_operations(tagging: Any, client: Client) -> None:
    group = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:/app"
    arns = [f"{GLUE}:database/air", group, f"{GLUE}:job/nobody", "arn:aws:s3:::lake"]
    failed = tagging.tag_resources(ResourceARNList=arns, Tags={"cost": "1"})["FailedResourcesMap"]
    assert {name: item["StatusCode"] for name, item in failed.items()} == {arns[2]: 400, arns[3]: 400}
    assert client("glue").get_tags(ResourceArn=arns[0])["Tags"] == {"team": "ops", "cost": "1"}
    assert tagging.untag_resources(ResourceARNList=arns[:2], TagKeys=["cost", "team"])["FailedResourcesMap"] == {}
    assert client("logs").list_tags_for_resource(resourceArn=arns[1])["tags"] == {}
    assert "database/air" not in _names(tagging)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"ResourceARNList": [f"{GLUE}:database/air"], "TagFilters": [{"Key": "a"}]}, "InvalidParameterException"),
        ({"TagFilters": [{"Values": ["a"]}]}, "InvalidParameterException"),
        ({"PaginationToken": "x"}, "PaginationTokenExpiredException"),
    ],
)
def test_what_is_refused(tagging: Any, asked: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError) as refused:
        tagging.get_resources(**asked)
    assert refused.value.response["Error"]["Code"] == code
