"""A Deny with a condition holds, or is refused when it is put if it would apply to nothing."""

import json
import secrets
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.security.targets import Keys, Target


def deny(condition: dict[str, Any]) -> str:
    statement = {"Effect": "Deny", "Action": "glue:ListRegistries", "Resource": "*", "Condition": condition}
    allow = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [allow, statement]})


def new_user(iam: Any, condition: dict[str, Any]) -> Keys:
    user = f"conditions-{secrets.token_hex(4)}"
    iam.create_user(UserName=user)
    iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=deny(condition))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return Keys(access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


@pytest.mark.parametrize(
    "condition",
    [
        {"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}},
        {"IpAddress": {"aws:SourceIp": "::ffff:127.0.0.0/104"}},
        {"StringLike": {"AWS:useragent": "*"}},
        {"Bool": {"aws:SecureTransport": "false"}},
        {"Bool": {"aws:ViaAWSService": "false"}},
        {"Bool": {"aws:PrincipalIsAWSService": "false"}},
        {"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}},
        {"DateGreaterThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}},
        {"StringNotEquals": {"aws:PrincipalOrgID": "o-another"}},
        {"Null": {"aws:RequestTag/team": "true"}},
    ],
    ids=json.dumps,
)
def test_a_deny_holds_by_its_condition(target: Target, condition: dict[str, dict[str, str]]) -> None:
    glue = target.client("glue", **new_user(target.client("iam"), condition))
    with pytest.raises(ClientError, match="explicit deny"):
        glue.list_registries()


@pytest.mark.parametrize(
    "condition",
    [
        {"StringEquals": {"aws:ResourceTag/class": "secret"}},
        {"StringEquals": {"AWS:resourcetag/class": "secret"}},
        {"StringLike": {"s3:ExistingObjectTag/class": "*"}},
        {"StringEquals": {"secretsmanager:SecretId": "prod"}},
        {"ForAnyValue:StringEquals": {"aws:TagKeys": "team"}},
        {"NumericGreaterThan": {"sts:DurationSeconds": "900"}},
        {"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}, "StringEquals": {"aws:PrincipalOrgID": "o-mine"}},
        {"Null": {"aws:ResourceTag/class": "false"}},
    ],
    ids=json.dumps,
)
def test_a_deny_that_would_apply_to_nothing_is_refused(target: Target, condition: dict[str, dict[str, str]]) -> None:
    iam, user = target.client("iam"), f"conditions-{secrets.token_hex(4)}"
    iam.create_user(UserName=user)
    with pytest.raises(ClientError, match="which no request has here") as caught:
        iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=deny(condition))
    assert caught.value.response["Error"]["Code"] == "MalformedPolicyDocument"


def test_a_condition_key_of_missing_networks_is_accepted(target: Target) -> None:
    """No request comes through a VPC here, so it is right that a Deny for one denies nothing."""
    glue = target.client("glue", **new_user(target.client("iam"), {"StringEquals": {"aws:SourceVpce": "vpce-1"}}))
    glue.list_registries()
