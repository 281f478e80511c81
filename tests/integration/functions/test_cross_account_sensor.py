"""The seed's pipeline, end to end: sensor in one account, consumer and table in another, schemas by an assumed role."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.local.broker import Broker
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer, running_server
from tests.integration.functions.runs import make_topic

EXAMPLES = Path(__file__).parents[3] / "examples" / "functions"
EXTERNAL_ID = "sensors-42"
READING = ["glue:GetSchemaVersion", "glue:GetSchema"]


def _policy(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


@dataclass(frozen=True)
class Accounts:
    """A server with the producer's account, its first, and the consumer's; ``consumer`` is the function's environment."""

    server: RunningServer
    producer: dict[str, str]
    consumer: dict[str, str]
    role: str

    def client(self, service: str, environment: Mapping[str, str]) -> Any:
        return self.server.client(
            service,
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=environment.get("AWS_SESSION_TOKEN"),
        )


def _environment(server: RunningServer, broker: Broker, keys: Mapping[str, Any]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    own = {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "PENSTOCK_BROKERS": broker.bootstrap,
        "PENSTOCK_SECRET_ID": "AmazonMSK_sensors",
        "EXTERNAL_ID": EXTERNAL_ID,
        "SCHEMA_ROLE_ARN": f"arn:aws:iam::{server.account}:role/schema-reader",
    }
    return inherited | server.environment() | own


@pytest.fixture(scope="module")
def accounts(broker: Broker) -> Iterator[Accounts]:
    """What the seed's Terraform makes: registry, role with its trust, both accounts' broker secrets."""
    with running_server() as server:
        login = json.dumps({"username": broker.username, "password": broker.password})
        server.client("secretsmanager").create_secret(Name="AmazonMSK_sensors", SecretString=login)
        server.client("glue").create_registry(RegistryName="streams")
        made = server.client("organizations").create_account(AccountName="consumer", Email="consumer@example.com")
        account = made["CreateAccountStatus"]["AccountId"]
        admin = server.client("sts").assume_role(
            RoleArn=f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole", RoleSessionName="set-up"
        )["Credentials"]
        keys = {
            "aws_access_key_id": admin["AccessKeyId"],
            "aws_secret_access_key": admin["SecretAccessKey"],
            "aws_session_token": admin["SessionToken"],
        }
        server.client("secretsmanager", **keys).create_secret(Name="AmazonMSK_sensors", SecretString=login)
        role = f"arn:aws:iam::{server.account}:role/schema-reader"
        iam = server.client("iam", **keys)
        iam.create_user(UserName="function")
        rights = [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": role},
            {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": "*"},
        ]
        iam.put_user_policy(UserName="function", PolicyName="rights", PolicyDocument=_policy(*rights))
        function = iam.create_access_key(UserName="function")["AccessKey"]
        _make_role(server, f"arn:aws:iam::{account}:user/function")
        yield Accounts(
            server=server,
            producer=_environment(
                server, broker, {"AccessKeyId": server.access_key_id, "SecretAccessKey": server.secret_access_key}
            ),
            consumer=_environment(server, broker, function),
            role=role,
        )


def _make_role(server: RunningServer, trusted: str) -> None:
    iam = server.client("iam")
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": trusted},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": EXTERNAL_ID}},
    }
    iam.create_role(RoleName="schema-reader", AssumeRolePolicyDocument=_policy(trust))
    prefix = f"arn:aws:glue:{server.region}:{server.account}"
    allowed = {
        "Effect": "Allow",
        "Action": READING,
        "Resource": [f"{prefix}:registry/streams", f"{prefix}:schema/streams/sensor"],
    }
    iam.put_role_policy(RoleName="schema-reader", PolicyName="read", PolicyDocument=_policy(allowed))


def _send(accounts: Accounts, event: str) -> dict[str, Any]:
    """Invoke the sensor with one of the example's events, as Lambda's test button does; what it returns."""
    command = [sys.executable, "-m", "penstock", "functions", "invoke", str(EXAMPLES / "sensor.yaml")]
    done = subprocess.run(
        [*command, "--event", str(EXAMPLES / "events" / f"{event}.json")],
        env=accounts.producer,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _fields(accounts: Accounts) -> list[list[str]]:
    """The fields of each registered version, in the order of the versions."""
    glue = accounts.server.client("glue")
    listed = glue.list_schema_versions(SchemaId={"RegistryName": "streams", "SchemaName": "sensor"})["Schemas"]
    results = {
        item["VersionNumber"]: json.loads(
            glue.get_schema_version(SchemaVersionId=item["SchemaVersionId"])["SchemaDefinition"]
        )
        for item in listed
    }
    return [[field["name"] for field in results[number]["fields"]] for number in sorted(results)]


def test_the_demo_of_the_seed(accounts: Accounts, broker: Broker, dynamodb: DynamoDBLocal, tmp_path: Path) -> None:
    table = dynamodb.client()
    table.create_table(
        TableName="sensors",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    make_topic(broker, "sensor-failed")

    def items() -> list[dict[str, Any]]:
        result = table.scan(TableName="sensors", ConsistentRead=True)["Items"]
        return sorted(result, key=lambda item: int(item["timestamp"]["N"]))

    log = tmp_path / "consumer.log"
    command = [sys.executable, "-m", "penstock", "functions", "run", str(EXAMPLES / "consumer.yaml")]
    with log.open("wb") as output:
        # The consumer is there before its topic is, as in the seed.
        consumer = subprocess.Popen(
            command, env=accounts.consumer | dynamodb.environment(), stdout=output, stderr=subprocess.STDOUT, cwd=tmp_path
        )
    try:
        first = _send(accounts, "empty")["sent"]
        assert _fields(accounts) == [["deviceId", "timestamp"]]
        eventually(lambda: len(items()) == 1, f"the first measurement is in the table: {log.read_text()}")
        second = _send(accounts, "temperature")["sent"]
        assert _fields(accounts) == [["deviceId", "timestamp"], ["deviceId", "timestamp", "temperature"]]
        eventually(lambda: len(items()) == 2, "the second measurement is in the table")
        third = _send(accounts, "empty")["sent"]
        assert len(_fields(accounts)) == 2, "nothing is registered for fields that go away"
        eventually(lambda: len(items()) == 3, "the third measurement is in the table")
    finally:
        consumer.terminate()
        status = consumer.wait(60)
    assert status == 0, log.read_text()
    stored = [{name: value for name, value in item.items() if name != "id"} for item in items()]
    assert stored == [
        {"deviceId": {"S": "000001"}, "timestamp": {"N": str(sent["timestamp"])}, **extra}
        for sent, extra in ((first, {}), (second, {"temperature": {"N": "30"}}), (third, {}))
    ]
    assert "3 read, 3 delivered, 0 filtered out, 0 discarded" in log.read_text()
    _holds_without_the_role(accounts)


def _holds_without_the_role(accounts: Accounts) -> None:
    """The function's own credentials read nothing of the producer's, and the role nothing but its schema."""
    arn = f"arn:aws:glue:{accounts.server.region}:{accounts.server.account}:schema/streams/sensor"
    with pytest.raises(ClientError, match="AccessDenied"):
        accounts.client("glue", accounts.consumer).get_schema(SchemaId={"SchemaArn": arn})
    with pytest.raises(ClientError, match="AccessDenied"):
        accounts.client("sts", accounts.consumer).assume_role(RoleArn=accounts.role, RoleSessionName="without-external-id")
