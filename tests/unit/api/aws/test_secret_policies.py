"""Resource policies and rotation rules of secrets through boto3: what is taken, answered and refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.functions.model import Function
from penstock.functions.rotation import pending_rotations
from penstock.secrets.model import Rotation
from penstock.secrets.schedules import next_rotation
from tests.unit.api.aws.every_operation import ACCOUNT, start
from tests.unit.api.aws.loopback import Silent, loopback_client

Client = Callable[[str], Any]
FUNCTION = "arn:aws:lambda:us-east-1:111122223333:function:f"
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def _policy(principal: Any = "*", action: str = "secretsmanager:GetSecretValue", resource: str = "*", **more: Any) -> str:
    statement = {"Effect": "Allow", "Principal": principal, "Action": action, "Resource": resource, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def _code(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(refused.value.response["Error"]["Code"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "MalformedPolicyDocumentException"),
        (_policy(action="s3:GetObject"), "MalformedPolicyDocumentException"),
        (_policy(resource="arn:aws:secretsmanager:us-east-1:1:secret:other-AbCdEf"), "MalformedPolicyDocumentException"),
        (_policy(), "PublicPolicyException"),
    ],
)  # fmt: skip
def test_text_that_is_not_a_policy_of_the_secret_is_refused(client: Client, text: str, code: str) -> None:
    secrets = client("secretsmanager")
    secrets.create_secret(Name="db", SecretString="x")
    assert _code(secrets.put_resource_policy, SecretId="db", ResourcePolicy=text, BlockPublicPolicy=True) == code
    assert "ResourcePolicy" not in secrets.get_resource_policy(SecretId="db")
    validated = secrets.validate_resource_policy(SecretId="db", ResourcePolicy=text)
    assert validated["PolicyValidationPassed"] is False
    assert validated["ValidationErrors"][0]["ErrorMessage"]


def test_a_policy_is_stored_answered_and_removed(client: Client) -> None:
    secrets = client("secretsmanager")
    arn = secrets.create_secret(Name="db", SecretString="x")["ARN"]
    text = _policy({"AWS": "444455556666"}, resource=arn)
    assert secrets.validate_resource_policy(ResourcePolicy=_policy({"AWS": "444455556666"}))["PolicyValidationPassed"]
    assert secrets.put_resource_policy(SecretId="db", ResourcePolicy=text)["ARN"] == arn
    assert secrets.get_resource_policy(SecretId=arn)["ResourcePolicy"] == text
    secrets.update_secret(SecretId="db", SecretString="y")
    assert secrets.get_resource_policy(SecretId=arn)["ResourcePolicy"] == text
    secrets.delete_resource_policy(SecretId="db")
    assert "ResourcePolicy" not in secrets.get_resource_policy(SecretId=arn)
    assert _code(secrets.put_resource_policy, SecretId="nobody", ResourcePolicy=text) == "ResourceNotFoundException"


def test_rotation_rules_as_terraform_sends_them(client: Client) -> None:
    """aws_secretsmanager_secret_rotation: RotateSecret with rules, then DescribeSecret."""
    secrets = client("secretsmanager")
    secrets.create_secret(Name="db", SecretString="x")
    rules = {"AutomaticallyAfterDays": 30, "Duration": "3h"}
    asked: dict[str, Any] = {"SecretId": "db", "RotationLambdaARN": FUNCTION, "RotationRules": rules}
    assert "VersionId" not in secrets.rotate_secret(**asked, RotateImmediately=False)
    secret = secrets.describe_secret(SecretId="db")
    assert (secret["RotationEnabled"], secret["RotationLambdaARN"], secret["RotationRules"]) == (True, FUNCTION, rules)
    assert timedelta(days=29) < secret["NextRotationDate"] - datetime.now(UTC) <= timedelta(days=30)
    assert list(secret["VersionIdsToStages"].values()) == [["AWSCURRENT"]]
    assert secrets.rotate_secret(SecretId="db")["VersionId"]
    assert secrets.describe_secret(SecretId="db")["RotationRules"] == rules
    secrets.cancel_rotate_secret(SecretId="db")
    assert "NextRotationDate" not in secrets.describe_secret(SecretId="db")
    both = {"AutomaticallyAfterDays": 1, "ScheduleExpression": "rate(1 day)"}
    for wrong in ({}, both, {"ScheduleExpression": "rate(1 hour)"}, {"ScheduleExpression": "sometimes"}):
        assert _code(secrets.rotate_secret, **{**asked, "RotationRules": wrong}) == "InvalidParameterException"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"AutomaticallyAfterDays": 10}, NOW + timedelta(days=10)),
        ({"ScheduleExpression": "rate(4 hours)"}, NOW + timedelta(hours=4)),
        ({"ScheduleExpression": "cron(0 8 1 * ? *)"}, datetime(2026, 4, 1, 8, tzinfo=UTC)),
        ({}, None),
    ],
)
def test_when_the_next_rotation_is_due(rules: dict[str, Any], expected: datetime | None) -> None:
    assert next_rotation(Rotation(function=FUNCTION, rules=rules, since=NOW)) == expected
    assert next_rotation(Rotation(function=FUNCTION, rules=rules, since=NOW, enabled=False)) is None


def test_a_rotation_that_is_due_is_begun_once(tmp_path: Path) -> None:
    world = start(tmp_path)
    app = AwsApp(world.endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())
    secrets = loopback_client("secretsmanager", app)
    rules = {"AutomaticallyAfterDays": 30}
    for name in ("due", "later"):
        secrets.create_secret(Name=name, SecretString="x")
        secrets.rotate_secret(SecretId=name, RotationLambdaARN=FUNCTION, RotationRules=rules, RotateImmediately=False)
    service = world.services.tenants.first.secrets
    secret = service.describe(ACCOUNT, "due")
    assert secret.rotation is not None
    past = replace(secret.rotation, since=datetime.now(UTC) - timedelta(days=31))
    service._store.replace(replace(secret, rotation=past))
    rotator = Function(name="f", handler="f.handler", code=tmp_path)
    begun = list(pending_rotations(secrets, rotator))
    assert [arn for arn, _ in begun] == [secret.arn]
    assert secrets.describe_secret(SecretId="due")["VersionIdsToStages"][begun[0][1]] == ["AWSPENDING"]
    assert list(pending_rotations(secrets, rotator)) == begun
    app.close()
    world.services.close()
