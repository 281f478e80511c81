"""assumeRoleArn: a serde whose own key may do nothing but assume a role, which may read schemas."""

import json
import uuid

import pytest

from penstock.client.registry import RegistryClient
from penstock.errors import AccessDenied
from penstock.serdes.kafka.serdes import GlueDeserializer, GlueSerializer
from penstock.testing.server import RunningServer


def policy(action: str, **more: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, **more}]})


def test_a_role_reads_what_its_user_may_not(
    penstock_server: RunningServer, source: RegistryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    iam, name = penstock_server.client("iam"), f"serde-{uuid.uuid4().hex[:8]}"
    user = iam.create_user(UserName=name)["User"]["Arn"]
    trust = policy("sts:AssumeRole", Principal={"AWS": user})
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="read", PolicyDocument=policy("glue:GetSchemaVersion", Resource="*"))
    iam.put_user_policy(UserName=name, PolicyName="assume", PolicyDocument=policy("sts:AssumeRole", Resource=role))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    properties = {"schemaName": name, "schemaAutoRegistrationEnabled": "true"}
    message = GlueSerializer(properties, schema='"long"', source=source)(7)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    with pytest.raises(AccessDenied, match="GetSchemaVersion"):
        GlueDeserializer()(message)
    acting = {"assumeRoleArn": role, "assumeRoleSessionName": "page"}
    assert GlueDeserializer(acting)(message) == 7
    with pytest.raises(AccessDenied, match=f"assumed-role/{name}/page.*GetSchemaByDefinition"):
        GlueSerializer({**properties, **acting}, schema='"long"')(7)
    with pytest.raises(AccessDenied, match="AssumeRole"):
        GlueDeserializer({"assumeRoleArn": role.replace(name, "nobody")})(message)
