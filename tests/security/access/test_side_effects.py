"""Side effects of a request are authorized, too: tags that it sets, objects that it writes, folders that it names."""

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.local.platform import Platform
from penstock.testing.clients import boto3_client
from tests.security.targets import Keys, Target

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
TAGS = [{"Key": "department", "Value": "finance"}]
TRUST = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def name(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(4)}"


def new_user(iam: Any, *statements: dict[str, Any]) -> Keys:
    """Return the credentials of a new user with the policy ``statements``, as arguments of boto3_client."""
    user = name("user")
    iam.create_user(UserName=user)
    iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=policy(*statements))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return Keys(access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


def denied(action: str, call: Callable[..., Any], **arguments: Any) -> None:
    with pytest.raises(ClientError, match=action) as caught:
        call(**arguments)
    assert caught.value.response["Error"]["Code"] in {"AccessDenied", "AccessDeniedException"}, caught.value


TAGGED_ON_CREATION = [
    ("iam:TagUser", "create_user", lambda: {"UserName": name("tagged"), "Tags": TAGS}),
    (
        "iam:TagRole",
        "create_role",
        lambda: {"RoleName": name("tagged"), "AssumeRolePolicyDocument": policy(TRUST), "Tags": TAGS},
    ),
    (
        "iam:TagPolicy",
        "create_policy",
        lambda: {"PolicyName": name("tagged"), "PolicyDocument": policy(EVERYTHING), "Tags": TAGS},
    ),
    ("iam:TagInstanceProfile", "create_instance_profile", lambda: {"InstanceProfileName": name("tagged"), "Tags": TAGS}),
    (
        "iam:TagOpenIDConnectProvider",
        "create_open_id_connect_provider",
        lambda: {"Url": f"https://{name('tagged')}.example.com", "ClientIDList": ["x"], "Tags": TAGS},
    ),
    ("glue:TagResource", "create_registry", lambda: {"RegistryName": name("tagged"), "Tags": {"a": "b"}}),
    (
        "glue:TagResource",
        "create_schema",
        lambda: {"SchemaName": name("tagged"), "DataFormat": "AVRO", "SchemaDefinition": '"int"', "Tags": {"a": "b"}},
    ),
    ("glue:TagResource", "create_database", lambda: {"DatabaseInput": {"Name": name("tagged")}, "Tags": {"a": "b"}}),
    ("secretsmanager:TagResource", "create_secret", lambda: {"Name": name("tagged"), "SecretString": "x", "Tags": TAGS}),
]


@pytest.mark.parametrize(
    ("action", "call", "arguments"), TAGGED_ON_CREATION, ids=lambda item: item if isinstance(item, str) else ""
)
def test_a_caller_who_may_not_set_tags_sets_none_on_creation(
    target: Target, action: str, call: str, arguments: Callable[[], dict[str, Any]]
) -> None:
    key = new_user(target.client("iam"), EVERYTHING, {"Effect": "Deny", "Action": action, "Resource": "*"})
    client = target.client(action.partition(":")[0], **key)
    denied(action, getattr(client, call), **arguments())
    getattr(client, call)(**{member: value for member, value in arguments().items() if member != "Tags"})


def test_permission_to_create_does_not_include_tagging(target: Target) -> None:
    """Tags decide what conditions on aws:PrincipalTag allow, so creating users does not include tagging them."""
    key = new_user(target.client("iam"), {"Effect": "Allow", "Action": "iam:CreateUser", "Resource": "*"})
    iam = target.client("iam", **key)
    denied("iam:TagUser", iam.create_user, UserName=name("tagged"), Tags=TAGS)
    iam.create_user(UserName=name("plain"))


@pytest.mark.parametrize("action", ["s3:GetObjectTagging", "s3:PutObjectTagging"])
def test_a_copy_has_no_tags_that_its_caller_may_not_read_or_set(platform: Platform, action: str) -> None:
    config = platform.config
    root = {"access_key_id": config.access_key_id, "secret_access_key": config.secret_access_key}
    iam = boto3_client("iam", config.endpoint_url, config.region, **root)
    owner = boto3_client("s3", config.s3_endpoint_url, config.region, **root)
    key = new_user(iam, EVERYTHING, {"Effect": "Deny", "Action": action, "Resource": "*"})
    s3 = boto3_client("s3", config.s3_endpoint_url, config.region, **key)
    source, copy = name("source"), name("copy")
    owner.put_object(Bucket="lake", Key=source, Body=b"x", Tagging="class=secret")
    denied(action, s3.copy_object, Bucket="lake", Key=copy, CopySource=f"lake/{source}")
    with pytest.raises(ClientError, match="404"):
        owner.head_object(Bucket="lake", Key=copy)
    owner.put_object(Bucket="lake", Key=source, Body=b"x")
    s3.copy_object(Bucket="lake", Key=copy, CopySource=f"lake/{source}")
    for client in (iam, owner, s3):
        client.close()


def test_a_statement_does_not_write_its_result_where_its_caller_may_not(target: Target) -> None:
    closed = name("closed")
    deny = {"Effect": "Deny", "Action": "s3:PutObject", "Resource": f"arn:aws:s3:::lake/{closed}/*"}
    athena = target.client("athena", **new_user(target.client("iam"), EVERYTHING, deny))
    for location in (f"s3://lake/{closed}", f"s3://lake/{closed}/", f"s3a://lake/{closed}/deeper/"):
        denied(
            "s3:PutObject",
            athena.start_query_execution,
            QueryString="SELECT 1",
            ResultConfiguration={"OutputLocation": location},
        )
    athena.start_query_execution(
        QueryString="SELECT 1", ResultConfiguration={"OutputLocation": f"s3://lake/{name('open')}/"}
    )
    # Nor through a work group that names the place.
    group = name("group")
    results = {"ResultConfiguration": {"OutputLocation": f"s3://lake/{closed}/"}}
    athena.create_work_group(Name=group, Configuration=results)
    denied("s3:PutObject", athena.start_query_execution, QueryString="SELECT 1", WorkGroup=group)
    assert athena.list_query_executions(WorkGroup=group)["QueryExecutionIds"] == []


def test_no_location_names_the_folder_of_uploads_in_progress(platform: Platform) -> None:
    """An account's own lake has its uploads beside the buckets: no result is written there, and no crawl reads them."""
    config = platform.config
    root = {"access_key_id": config.access_key_id, "secret_access_key": config.secret_access_key}
    organizations = boto3_client("organizations", config.endpoint_url, config.region, **root)
    account = organizations.create_account(AccountName="uploads", Email="uploads@example.com")["CreateAccountStatus"][
        "AccountId"
    ]
    sts = boto3_client("sts", config.endpoint_url, config.region, **root)
    role = f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole"
    keys = sts.assume_role(RoleArn=role, RoleSessionName="uploads")["Credentials"]
    session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], region_name=config.region)
    s3 = session.client("s3", endpoint_url=config.s3_endpoint_url)
    s3.create_multipart_upload(Bucket="lake", Key="in-progress")
    work = platform.home.account_lakes / account / ".penstock-s3"
    before = sorted(work.rglob("*"))
    assert before
    make_client: Any = session.client
    athena, glue = (make_client(item, endpoint_url=config.endpoint_url) for item in ("athena", "glue"))
    with pytest.raises(ClientError, match="InvalidRequestException"):
        athena.start_query_execution(
            QueryString="SELECT 1", ResultConfiguration={"OutputLocation": "s3://.penstock-s3/uploads/"}
        )
    with pytest.raises(ClientError, match="InvalidInputException"):
        glue.create_crawler(
            Name="uploads", Role="crawler", DatabaseName="d", Targets={"S3Targets": [{"Path": "s3://.penstock-s3/"}]}
        )
    glue.create_database(DatabaseInput={"Name": "d"})
    serde = {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"}
    storage = {
        "Columns": [{"Name": "a", "Type": "string"}],
        "Location": "s3://.penstock-s3/",
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "SerdeInfo": serde,
    }
    glue.create_table(DatabaseName="d", TableInput={"Name": "t", "StorageDescriptor": storage})
    started = athena.start_query_execution(QueryString="SELECT * FROM d.t")["QueryExecutionId"]
    while (status := athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]["Status"])["State"] in {
        "QUEUED",
        "RUNNING",
    }:
        time.sleep(0.05)
    assert status["State"] == "FAILED", status
    assert "not a usable S3 location" in status["StateChangeReason"]
    assert sorted(work.rglob("*")) == before
