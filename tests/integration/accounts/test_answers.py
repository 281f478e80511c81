"""Answers and errors of IAM and Secrets Manager that others' test suites compare with AWS's."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer
from tests.integration.accounts.accounts_world import allow, policy

BUCKET = "arn:aws:s3:::example"


@pytest.fixture(scope="module")
def secrets(server: RunningServer) -> Any:
    client = server.client("secretsmanager")
    described = {"one": "One two", "and": "one and two", "first": "one", "second": "two", "other": "unrelated"}
    for name, text in described.items():
        client.create_secret(Name=name, Description=text)
    client.create_secret(Name="App/db-Login", SecretString="x", Tags=[{"Key": "Team", "Value": "Data"}])
    return client


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (json.dumps({"Statement": allow("s3:Get*", BUCKET)}), "Version has to be 2012-10-17"),
        (json.dumps({"Version": "2008-10-17", "Statement": allow("s3:Get*", BUCKET)}), "Version has to be 2012-10-17"),
        (policy(allow("s3:List:Bucket", BUCKET)), "Statement[0].Action 's3:List:Bucket' has two colons"),
        (policy(allow("s3*:List", BUCKET)), "the vendor 's3*'"),
        (policy(allow("s3:List", "arn:error:s3:::example")), "the partition 'error'"),
        (policy(allow("s3:List", "arn:aws")), "name its service in full"),
        (policy(allow("s3:List", "arn:aws:*:::example")), "name its service in full"),
        (policy(allow("s3:List", "arn:aws:s3::example")), "is cut short"),
        (policy(allow("s3:List", "arn:aws:s3:us-east-1::example")), "cannot contain a region"),
        (policy(allow("s3:List", "arn:aws:iam:us-east-1::user/a")), "cannot contain a region"),
        (policy(allow("s3:List", "arn:aws:iam:::example")), "is not a resource of IAM"),
    ],
)
def test_a_malformed_policy_is_refused_with_its_place(iam: Any, text: str, place: str) -> None:
    code, message = refused(iam.create_policy, PolicyName="malformed", PolicyDocument=text)
    assert code == "MalformedPolicyDocument"
    assert place in message


@pytest.mark.parametrize(
    "statement",
    [
        allow("s3:List", BUCKET, Condition={}),
        allow("s3:List", BUCKET, Condition={"DateGreaterThan": {}, "x": {}}),
        allow("s3:List", BUCKET, Condition={"DateGreaterThan": {"a": []}}),
        allow("s3:List", BUCKET, Condition={"StringEqualsIfExists": {"a": "asf"}}),
        allow("s3:List", BUCKET, Condition={"ForAnyValue:StringEqualsIfExists": {"a": "asf"}}),
        allow("s3:List", BUCKET, Condition={"DateLessThan": {"a": "-292275054"}}),
        allow("s3:List", "arn:aws:anything"),
        allow("s3:List", ["arn:aws:iam::*:user/${aws:username}", "arn:aws:iam::*:*"]),
        allow("s3:List", "arn:aws:s3:us-west-2:123456789012:accesspoint/point"),
    ],
)
def test_policies_that_aws_accepts_are_accepted(iam: Any, statement: dict[str, Any]) -> None:
    made = iam.create_policy(PolicyName="taken", PolicyDocument=policy(statement))["Policy"]
    iam.delete_policy(PolicyArn=made["Arn"])


def test_an_inline_policy_may_be_of_the_older_version(iam: Any) -> None:
    iam.create_user(UserName="old")
    text = json.dumps({"Version": "2008-10-17", "Statement": allow("s3:Get*", BUCKET)})
    iam.put_user_policy(UserName="old", PolicyName="p", PolicyDocument=text)
    assert iam.get_user_policy(UserName="old", PolicyName="p")["PolicyDocument"] == json.loads(text)


def test_tag_keys_are_case_insensitive_and_those_of_aws_reserved(iam: Any) -> None:
    twice = [{"Key": "team", "Value": "a"}, {"Key": "TEAM", "Value": "b"}]
    reserved = [{"Key": "AWS:team", "Value": "a"}]
    text = policy(allow("s3:Get*", BUCKET))
    trust = policy({"Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "sts:AssumeRole"})
    iam.create_user(UserName="tagged", Tags=twice[:1])
    for call, arguments in (
        (iam.create_policy, {"PolicyName": "tagged", "PolicyDocument": text}),
        (iam.create_role, {"RoleName": "tagged", "AssumeRolePolicyDocument": trust}),
        (iam.create_user, {"UserName": "other"}),
        (iam.tag_user, {"UserName": "tagged"}),
    ):
        code, message = refused(call, **arguments, Tags=twice)
        assert (code, "Duplicate tag keys found" in message) == ("InvalidInput", True)
        code, message = refused(call, **arguments, Tags=reserved)
        assert (code, "begins with aws:" in message) == ("InvalidInput", True)
    iam.tag_user(UserName="tagged", Tags=[{"Key": "TEAM", "Value": "b"}])
    assert iam.list_user_tags(UserName="tagged")["Tags"] == [{"Key": "TEAM", "Value": "b"}]
    iam.untag_user(UserName="tagged", TagKeys=["Team"])
    assert iam.list_user_tags(UserName="tagged")["Tags"] == []


def test_lists_leave_out_members_that_only_the_single_answer_has(iam: Any) -> None:
    text = policy(allow("s3:Get*", BUCKET))
    tags = [{"Key": "a", "Value": "b"}]
    arn = iam.create_policy(PolicyName="listed", PolicyDocument=text, Description="d")["Policy"]["Arn"]
    result = iam.get_policy(PolicyArn=arn)["Policy"]
    assert (result["Description"], result["Tags"]) == ("d", [])
    iam.tag_policy(PolicyArn=arn, Tags=tags)
    assert iam.get_policy(PolicyArn=arn)["Policy"]["Tags"] == tags
    assert iam.list_policy_tags(PolicyArn=arn)["Tags"] == tags
    listed = next(item for item in iam.list_policies(Scope="Local")["Policies"] if item["Arn"] == arn)
    assert not {"Description", "Tags"} & set(listed)
    iam.untag_policy(PolicyArn=arn, TagKeys=["a"])
    assert iam.list_policy_tags(PolicyArn=arn)["Tags"] == []
    iam.create_user(UserName="listed", Tags=tags)
    assert "Tags" not in next(user for user in iam.list_users()["Users"] if user["UserName"] == "listed")
    assert iam.get_user(UserName="listed")["User"]["Tags"] == tags


def test_the_root_is_a_user_without_a_name(iam: Any, server: RunningServer) -> None:
    user = iam.get_user()["User"]
    assert set(user) == {"UserId", "Arn", "CreateDate"}
    assert (user["UserId"], user["Arn"]) == (server.account, f"arn:aws:iam::{server.account}:root")


def names(answer: dict[str, Any]) -> list[str]:
    return [secret["Name"] for secret in answer["SecretList"]]


def test_secrets_come_oldest_first_unless_the_request_says_otherwise(secrets: Any) -> None:
    made = ["one", "and", "first", "second", "other", "App/db-Login"]
    assert names(secrets.list_secrets()) == made
    assert names(secrets.list_secrets(SortOrder="desc")) == made[::-1]
    assert names(secrets.list_secrets(SortBy="name")) == sorted(made)
    pages = secrets.get_paginator("list_secrets").paginate(SortBy="name", SortOrder="desc", PaginationConfig={"PageSize": 4})
    assert [names(page) for page in pages] == [sorted(made)[:1:-1], sorted(made)[1::-1]]
    token = secrets.list_secrets(MaxResults=1)["NextToken"]
    assert refused(secrets.list_secrets, SortBy="name", NextToken=token)[0] == "InvalidNextTokenException"


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("name", ["App/"], ["App/db-Login"]),
        ("name", ["app"], []),
        ("name", ["!o", "one"], ["one", "and", "first", "second", "App/db-Login"]),
        ("description", ["one two"], ["one", "and"]),
        ("description", ["TWO one"], ["one", "and"]),
        ("description", ["t"], ["one", "and", "second"]),
        ("description", ["!o"], ["second", "other", "App/db-Login"]),
        ("tag-key", ["Te"], ["App/db-Login"]),
        ("tag-key", ["te"], []),
        ("tag-value", ["Data"], ["App/db-Login"]),
        ("tag-value", ["data"], []),
        ("all", ["LOGIN db"], ["App/db-Login"]),
        ("all", ["data"], ["App/db-Login"]),
        ("all", ["data login"], []),
    ],
)
def test_filters_match_words_as_in_aws(secrets: Any, key: str, values: list[str], expected: list[str]) -> None:
    assert names(secrets.list_secrets(Filters=[{"Key": key, "Values": values}])) == expected


def test_a_filter_needs_a_key(secrets: Any) -> None:
    assert refused(secrets.list_secrets, Filters=[{"Values": ["x"]}]) == ("InvalidParameterException", "Invalid filter key")


def test_a_secret_without_a_value_has_no_versions(secrets: Any) -> None:
    assert "VersionIdsToStages" not in secrets.describe_secret(SecretId="one")
    assert "SecretVersionsToStages" not in secrets.list_secrets(MaxResults=1)["SecretList"][0]
    assert list(secrets.describe_secret(SecretId="App/db-Login")["VersionIdsToStages"].values()) == [["AWSCURRENT"]]
