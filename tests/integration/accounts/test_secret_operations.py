"""Operations of Secrets Manager besides reading and writing: batches, passwords, labels, policies."""

import json
import string
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer
from tests.integration.accounts.accounts_world import Identity, allow, policy


@pytest.fixture(scope="module")
def secrets(server: RunningServer) -> Any:
    client = server.client("secretsmanager")
    for name in ("batch-a", "batch-b", "batch-c"):
        client.create_secret(Name=name, SecretString=f"value of {name}")
    client.create_secret(Name="empty")
    return client


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_a_batch_has_values_and_errors_for_secrets_that_cannot_be_read(secrets: Any) -> None:
    result = secrets.batch_get_secret_value(SecretIdList=["batch-b", "nothing", "empty", "batch-a"])
    assert [(secret_value["Name"], secret_value["SecretString"]) for secret_value in result["SecretValues"]] == [
        ("batch-b", "value of batch-b"),
        ("batch-a", "value of batch-a"),
    ]
    assert [(error["SecretId"], error["ErrorCode"]) for error in result["Errors"]] == [
        ("nothing", "ResourceNotFoundException"),
        ("empty", "ResourceNotFoundException"),
    ]
    by_name: Any = {"Filters": [{"Key": "name", "Values": ["batch-"]}], "MaxResults": 2}
    page = secrets.batch_get_secret_value(**by_name)
    assert [secret_value["Name"] for secret_value in page["SecretValues"]] == ["batch-a", "batch-b"]
    page = secrets.batch_get_secret_value(**by_name, NextToken=page["NextToken"])
    assert ([secret_value["Name"] for secret_value in page["SecretValues"]], "NextToken" in page) == (["batch-c"], False)
    for wrong in ({}, {"SecretIdList": ["a"], "Filters": []}, {"SecretIdList": ["batch-a"], "MaxResults": 1}):
        assert refused(secrets.batch_get_secret_value, **wrong)[0] == "InvalidParameterException"


def test_a_policy_of_a_secret_decides_across_accounts_and_within(server: RunningServer, secrets: Any) -> None:
    made = secrets.create_secret(Name="shared", SecretString="value")
    arn = made["ARN"]
    organizations, iam = server.client("organizations"), server.client("iam")
    other = organizations.create_account(Email="o@example.org", AccountName="o")["CreateAccountStatus"]["AccountId"]
    credentials = server.client("sts").assume_role(
        RoleArn=f"arn:aws:iam::{other}:role/OrganizationAccountAccessRole", RoleSessionName="session"
    )["Credentials"]
    theirs = Identity(server, credentials).client("secretsmanager")
    assert refused(theirs.get_secret_value, SecretId=arn)[0] == "AccessDeniedException"
    named = {"Principal": {"AWS": other}}
    shared = policy(allow("secretsmanager:GetSecretValue", "*", **named))
    secrets.put_resource_policy(SecretId="shared", ResourcePolicy=shared)
    assert theirs.get_secret_value(SecretId=arn)["SecretString"] == "value"
    assert refused(theirs.put_secret_value, SecretId=arn, SecretString="x")[0] == "AccessDeniedException"
    assert json.loads(secrets.get_resource_policy(SecretId=arn)["ResourcePolicy"])["Statement"][0]["Effect"] == "Allow"
    iam.create_user(UserName="denied")
    iam.put_user_policy(UserName="denied", PolicyName="p", PolicyDocument=policy(allow("secretsmanager:*", "*")))
    own = Identity(server, iam.create_access_key(UserName="denied")["AccessKey"]).client("secretsmanager")
    assert own.get_secret_value(SecretId="shared")["SecretString"] == "value"
    user = {"Principal": {"AWS": f"arn:aws:iam::{server.account}:user/denied"}}
    deny = {**allow("secretsmanager:GetSecretValue", arn, **user), "Effect": "Deny"}
    secrets.put_resource_policy(SecretId="shared", ResourcePolicy=policy(deny))
    assert refused(own.get_secret_value, SecretId="shared")[0] == "AccessDeniedException"
    assert refused(theirs.get_secret_value, SecretId=arn)[0] == "AccessDeniedException"
    secrets.delete_resource_policy(SecretId="shared")
    assert "ResourcePolicy" not in secrets.get_resource_policy(SecretId="shared")
    assert own.get_secret_value(SecretId="shared")["SecretString"] == "value"


def test_a_batch_has_the_same_answers_as_single_reads(server: RunningServer, secrets: Any) -> None:
    iam = server.client("iam")
    iam.create_user(UserName="reader")
    reader = Identity(server, iam.create_access_key(UserName="reader")["AccessKey"]).client("secretsmanager")
    put = {"UserName": "reader", "PolicyName": "p"}
    one = f"arn:aws:secretsmanager:{server.region}:{server.account}:secret:batch-a-??????"
    iam.put_user_policy(**put, PolicyDocument=policy(allow("secretsmanager:GetSecretValue", "*")))
    assert refused(reader.batch_get_secret_value, SecretIdList=["batch-a"])[0] == "AccessDeniedException"
    both = [allow("secretsmanager:BatchGetSecretValue", "*"), allow("secretsmanager:GetSecretValue", one)]
    iam.put_user_policy(**put, PolicyDocument=policy(*both))
    result = reader.batch_get_secret_value(SecretIdList=["batch-a", "batch-b"])
    assert [secret_value["Name"] for secret_value in result["SecretValues"]] == ["batch-a"]
    assert [(error["SecretId"], error["ErrorCode"]) for error in result["Errors"]] == [("batch-b", "AccessDeniedException")]
    by_filter = {"Filters": [{"Key": "name", "Values": ["batch-"]}]}
    assert refused(reader.batch_get_secret_value, **by_filter)[0] == "AccessDeniedException"
    iam.put_user_policy(**put, PolicyDocument=policy(*both, allow("secretsmanager:ListSecrets", "*")))
    result = reader.batch_get_secret_value(**by_filter)
    assert ([secret_value["Name"] for secret_value in result["SecretValues"]], len(result["Errors"])) == (["batch-a"], 2)


@pytest.mark.parametrize(
    ("rules", "letters", "length"),
    [
        ({}, string.ascii_letters + string.digits + string.punctuation, 32),
        ({"PasswordLength": 4}, string.ascii_letters + string.digits + string.punctuation, 4),
        ({"PasswordLength": 4096, "ExcludePunctuation": True}, string.ascii_letters + string.digits, 4096),
        ({"ExcludeLowercase": True, "ExcludeUppercase": True, "ExcludePunctuation": True}, string.digits, 32),
        ({"ExcludeCharacters": string.ascii_letters, "RequireEachIncludedType": False, "ExcludePunctuation": True,
          "IncludeSpace": True, "PasswordLength": 500}, string.digits + " ", 500),
    ],
)  # fmt: skip
def test_a_password_has_the_requested_characters(secrets: Any, rules: dict[str, Any], letters: str, length: int) -> None:
    password = secrets.get_random_password(**rules)["RandomPassword"]
    assert len(password) == length
    assert set(password) <= set(letters)
    if length > 400:
        assert set(password) == set(letters)
    if rules.get("PasswordLength") == 4:
        kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits, string.punctuation)
        assert all(set(password) & set(kind) for kind in kinds)
    assert secrets.get_random_password()["RandomPassword"] != secrets.get_random_password()["RandomPassword"]


@pytest.mark.parametrize("rules", [{"PasswordLength": 3}, {"ExcludeCharacters": string.digits}, {"PasswordLength": 5000}])
def test_an_impossible_password_is_refused(secrets: Any, rules: dict[str, Any]) -> None:
    assert refused(secrets.get_random_password, **rules)[0] in {"InvalidParameterException", "ValidationException"}


def test_labels_move_between_versions(secrets: Any) -> None:
    first = secrets.create_secret(Name="moved", SecretString="one")["VersionId"]
    second = secrets.put_secret_value(SecretId="moved", SecretString="two", VersionStages=["AWSPENDING"])["VersionId"]
    move = {"SecretId": "moved", "VersionStage": "AWSCURRENT"}
    code, message = refused(secrets.update_secret_version_stage, **move, MoveToVersionId=second)
    assert (code, first in message) == ("InvalidParameterException", True)
    assert (
        "can't be completely removed" in refused(secrets.update_secret_version_stage, **move, RemoveFromVersionId=first)[1]
    )
    for wrong in ({}, {"MoveToVersionId": first, "RemoveFromVersionId": second}):
        if wrong:
            secrets.update_secret_version_stage(**move, **wrong)  # it is there already
        else:
            assert refused(secrets.update_secret_version_stage, **move)[0] == "InvalidParameterException"
    nobody = "0" * 32
    missing = {"MoveToVersionId": nobody, "RemoveFromVersionId": first}
    assert refused(secrets.update_secret_version_stage, **move, **missing)[0] == "ResourceNotFoundException"
    secrets.update_secret_version_stage(**move, MoveToVersionId=second, RemoveFromVersionId=first)
    stages = secrets.describe_secret(SecretId="moved")["VersionIdsToStages"]
    assert stages == {first: ["AWSPREVIOUS"], second: ["AWSCURRENT", "AWSPENDING"]}
    assert secrets.get_secret_value(SecretId="moved")["SecretString"] == "two"
    secrets.update_secret_version_stage(SecretId="moved", VersionStage="AWSPENDING", RemoveFromVersionId=second)
    secrets.update_secret_version_stage(SecretId="moved", VersionStage="blue", MoveToVersionId=first)
    stages = secrets.describe_secret(SecretId="moved")["VersionIdsToStages"]
    assert stages == {first: ["AWSPREVIOUS", "blue"], second: ["AWSCURRENT"]}


def test_a_secret_without_a_policy_has_no_policy_member(secrets: Any) -> None:
    resource_policy = secrets.get_resource_policy(SecretId="batch-a")
    assert resource_policy["Name"] == "batch-a"
    assert "ResourcePolicy" not in resource_policy
    assert refused(secrets.get_resource_policy, SecretId="nothing")[0] == "ResourceNotFoundException"
    assert refused(secrets.create_secret, Name="copied", AddReplicaRegions=[{"Region": "eu-west-1"}])[1].startswith(
        "AddReplicaRegions"
    )
