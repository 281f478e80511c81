"""A server with two accounts: the producer's, which is the server's first, and a consumer's."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.config import Config

from penstock.testing.server import RunningServer, running_server

SENSOR = {"type": "record", "name": "Sensor", "fields": [{"name": "deviceId", "type": "string"}]}
EXTERNAL_ID = "pipeline-42"
# One session for all clients: otherwise each reads AWS's models again, which takes longer than a test.
SESSION: Any = boto3.session.Session()
WITHOUT_RETRIES = Config(retries={"total_max_attempts": 1})


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(actions: Any, resources: Any, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


@dataclass(frozen=True)
class Identity:
    """Credentials, and clients that use them."""

    server: RunningServer
    credentials: dict[str, Any]

    def client(self, service: str, **overrides: Any) -> Any:
        options = {
            "aws_access_key_id": self.credentials["AccessKeyId"],
            "aws_secret_access_key": self.credentials["SecretAccessKey"],
            "aws_session_token": self.credentials.get("SessionToken"),
            "endpoint_url": self.server.endpoint_url,
            "region_name": self.server.region,
            "config": WITHOUT_RETRIES,
        }
        return SESSION.client(service, **(options | overrides))

    def assume(self, role_arn: str, **more: Any) -> "Identity":
        expected = {"RoleArn": role_arn, "RoleSessionName": "consumer-function", **more}
        return Identity(self.server, self.client("sts").assume_role(**expected)["Credentials"])


@dataclass(frozen=True)
class World:
    """``producer`` and ``consumer`` administer their accounts; ``function`` is a user of the consumer's without any rights
    but to assume ``role``, which may read the schema streams/sensor."""

    server: RunningServer
    producer: Identity
    consumer: Identity
    function: Identity
    consumer_account: str
    role: str

    @property
    def function_arn(self) -> str:
        return f"arn:aws:iam::{self.consumer_account}:user/function"

    def arn(self, resource: str, *, region: str | None = None, account: str | None = None) -> str:
        return f"arn:aws:glue:{region or self.server.region}:{account or self.server.account}:{resource}"

    def new_user(self, name: str, *policies: str, account: Identity | None = None) -> Identity:
        iam = (account or self.producer).client("iam")
        iam.create_user(UserName=name)
        for number, text in enumerate(policies):
            iam.put_user_policy(UserName=name, PolicyName=f"p{number}", PolicyDocument=text)
        return Identity(self.server, iam.create_access_key(UserName=name)["AccessKey"])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running_server() as server:
        yield make_world(server)


def make_world(server: RunningServer) -> World:
    root = Identity(
        server, {"AccessKeyId": server.access_key_id, "SecretAccessKey": server.secret_access_key, "SessionToken": None}
    )
    made = root.client("organizations").create_account(AccountName="consumer", Email="consumer@example.com")
    account = made["CreateAccountStatus"]["AccountId"]
    consumer = root.assume(f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole")

    glue = root.client("glue")
    for registry in ("streams", "private"):
        glue.create_registry(RegistryName=registry)
    for registry, schema in (("streams", "sensor"), ("streams", "payments"), ("private", "sensor")):
        glue.create_schema(
            RegistryId={"RegistryName": registry},
            SchemaName=schema,
            DataFormat="AVRO",
            Compatibility="FULL",
            SchemaDefinition=json.dumps(SENSOR),
        )
    role = f"arn:aws:iam::{server.account}:role/schema-reader"
    world = World(server=server, producer=root, consumer=consumer, function=consumer, consumer_account=account, role=role)
    function = world.new_user("function", policy(allow("sts:AssumeRole", role)), account=consumer)
    world = World(server=server, producer=root, consumer=consumer, function=function, consumer_account=account, role=role)
    iam = root.client("iam")
    trusted = {"AWS": f"arn:aws:iam::{account}:user/function"}
    condition = {"StringEquals": {"sts:ExternalId": EXTERNAL_ID}}
    trust = {"Effect": "Allow", "Principal": trusted, "Action": "sts:AssumeRole", "Condition": condition}
    iam.create_role(RoleName="schema-reader", AssumeRolePolicyDocument=policy(trust))
    reading = ["glue:GetSchema", "glue:GetSchemaVersion", "glue:GetSchemaByDefinition", "glue:ListSchemaVersions"]
    resources = [world.arn("registry/streams"), world.arn("schema/streams/sensor")]
    iam.put_role_policy(RoleName="schema-reader", PolicyName="read-sensor", PolicyDocument=policy(allow(reading, resources)))
    return world


__all__ = ["EXTERNAL_ID", "SENSOR", "Identity", "World", "allow", "policy", "world"]
