"""A Deny holds for what is done by others in the caller's name: crawlers, SQL, deletions of containers."""

import json
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from penstock.local.platform import Platform
from penstock.testing.clients import boto3_client
from tests.security.access.denied_requests import HIDDEN, SHOWN, World
from tests.security.targets import written_privately


@pytest.mark.parametrize("operation", ["DeleteDatabase", "DeleteRegistry"])
def test_a_container_with_a_denied_member_is_not_deleted(world: World, operation: str) -> None:
    arguments = (
        {"Name": world.database} if operation == "DeleteDatabase" else {"RegistryId": {"RegistryName": world.registry}}
    )
    with pytest.raises(ClientError) as refused:
        world.call("glue", operation, arguments)
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"
    assert HIDDEN not in refused.value.response["Error"]["Message"]
    glue = world.target.client("glue")
    assert glue.get_table(DatabaseName=world.database, Name=HIDDEN)["Table"]["Name"] == HIDDEN
    assert glue.get_schema(SchemaId={"RegistryName": world.registry, "SchemaName": HIDDEN})["SchemaName"] == HIDDEN


def test_a_crawler_does_not_change_what_its_starter_is_denied(world: World) -> None:
    with pytest.raises(ClientError) as refused:
        world.call("glue", "StartCrawler", {"Name": world.secret.replace(HIDDEN, SHOWN)})
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"


def test_a_crawl_does_not_create_a_table_that_its_starter_is_denied(platform: Platform) -> None:
    config, name = platform.config, f"finds_{uuid.uuid4().hex[:8]}"
    for table in (HIDDEN, SHOWN):
        folder = platform.home.lake / "lake" / name / table
        with written_privately():
            folder.mkdir(parents=True)
            pq.write_table(pa.table({table: [1]}), folder / "part.parquet")
    root = {"access_key_id": config.access_key_id, "secret_access_key": config.secret_access_key}
    iam = boto3_client("iam", config.endpoint_url, config.region, **root)
    iam.create_user(UserName=name)
    statements = [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": "glue:CreateTable", "Resource": f"arn:aws:glue:*:*:table/{name}/{HIDDEN}"},
    ]
    iam.put_user_policy(
        UserName=name, PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements})
    )
    key = iam.create_access_key(UserName=name)["AccessKey"]
    glue = boto3_client("glue", config.endpoint_url, config.region, **root)
    user = boto3_client(
        "glue",
        config.endpoint_url,
        config.region,
        access_key_id=key["AccessKeyId"],
        secret_access_key=key["SecretAccessKey"],
    )
    glue.create_crawler(Name=name, Role="r", DatabaseName=name, Targets={"S3Targets": [{"Path": f"s3://lake/{name}/"}]})
    user.start_crawler(Name=name)
    while (crawler := glue.get_crawler(Name=name)["Crawler"])["State"] != "READY":
        pass
    assert crawler["LastCrawl"]["Status"] == "FAILED"
    assert "explicit deny" in crawler["LastCrawl"]["ErrorMessage"]
    assert HIDDEN not in {table["Name"] for table in glue.get_tables(DatabaseName=name)["TableList"]}


@pytest.mark.parametrize(
    "sql", ["SHOW TABLES IN {}", "SELECT table_name FROM information_schema.tables WHERE table_schema = '{}'"]
)
def test_sql_does_not_show_denied_tables(world: World, sql: str) -> None:
    athena = world.client("athena")
    started = athena.start_query_execution(QueryString=sql.format(world.database))["QueryExecutionId"]
    while True:
        status = athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]["Status"]
        if status["State"] not in {"QUEUED", "RUNNING"}:
            break
    if status["State"] == "SUCCEEDED":
        answer = json.dumps(athena.get_query_results(QueryExecutionId=started)["ResultSet"]["Rows"])
        assert HIDDEN not in answer
        assert "information_schema" in sql or SHOWN in answer
    else:
        assert HIDDEN not in status["StateChangeReason"]
