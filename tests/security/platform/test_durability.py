"""Acknowledged writes are on the disk: a power loss does not lose them, and no id is used twice.

The server runs on a disk that loses unsynced writes (forgetful_server.py): after each acknowledged write, the disk's content
is compared with what the server shows. Then the server is killed, and another one started on the disk's content.
"""

import json
import shutil
import signal
import sqlite3
import sys
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from penstock.interpreter import python_module
from penstock.local.broker import client_settings
from penstock.local.platform import Platform
from penstock.testing.clients import boto3_client
from penstock.testing.powerloss import after_power_loss
from penstock.testing.server import RunningServer, start_server

PROGRAM = Path(__file__).with_name("forgetful_server.py")
TABLE = {
    "Name": "flights",
    "StorageDescriptor": {"Columns": [{"Name": "a", "Type": "int"}], "Location": "s3://lake/flights/"},
    "PartitionKeys": [{"Name": "day", "Type": "string"}],
}


class Powered:
    """A server, and the disk that it is on."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.server = self._start(
            self.home, program=[sys.executable, str(PROGRAM), str(folder / "notes"), str(self.home)], **environment
        )

    def _start(self, home: Path, *, program: Sequence[str] = (), **environment: str) -> RunningServer:
        return start_server(
            home,
            environment=environment,
            program=program or python_module("penstock"),
            access_key_id="AKIAPOWERLOSSTEST",
            secret_access_key="kept-over-the-power-loss",
        )

    def client(self, service: str, **keys: str) -> Any:
        server = self.server
        own = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
        return boto3_client(service, server.endpoint_url, "us-east-1", **(own | keys))

    def confluent(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.server.endpoint_url + path, None if body is None else json.dumps(body).encode()
        )
        user = f"{self.server.access_key_id}:{self.server.secret_access_key}"
        request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
        request.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def shown(self) -> dict[str, list[Any]]:
        """All rows that other processes see."""
        return rows(self.home / "store")

    def on_disk(self) -> dict[str, list[Any]]:
        """All rows that a power loss would leave."""
        left = self.folder / "left"
        after_power_loss(self.folder / "notes", left)
        try:
            return rows(left / "store")
        finally:
            shutil.rmtree(left)

    def lose_power(self) -> None:
        """Kill the server as in a power loss, and start one on the disk's content."""
        self.server.stop(signal.SIGKILL)
        after_power_loss(self.folder / "notes", self.folder / "after")
        self.server = self._start(self.folder / "after")


def rows(store: Path) -> dict[str, list[Any]]:
    """The rows of each table of each database in ``store``."""
    result = {}
    for file in sorted(store.glob("*.db")):
        with closing(sqlite3.connect(file)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                result[f"{file.stem}.{table}"] = sorted(connection.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)
    return result


@pytest.fixture
def powered(tmp_path: Path) -> Iterator[Callable[..., Powered]]:
    """Starts a server on a disk that loses unsynced writes, and stops it afterwards."""
    started: list[Powered] = []

    def start(**environment: str) -> Powered:
        started.append(Powered(tmp_path / f"machine-{len(started)}", **environment))
        return started[-1]

    yield start
    for item in started:
        item.server.stop(signal.SIGKILL)


def writes(machine: Powered) -> Iterator[tuple[str, Callable[[], Any]]]:
    """One acknowledged write on each way into the store."""
    glue, iam, secrets = machine.client("glue"), machine.client("iam"), machine.client("secretsmanager")
    schema = {"RegistryName": "r", "SchemaName": "s"}
    yield "a registry", lambda: glue.create_registry(RegistryName="r")
    yield (
        "a schema",
        lambda: glue.create_schema(
            RegistryId={"RegistryName": "r"},
            SchemaName="s",
            DataFormat="AVRO",
            Compatibility="NONE",
            SchemaDefinition='"int"',
        ),
    )
    for kind in ("long", "float", "double", "string", "bytes"):
        yield (
            f"version {kind}",
            partial(glue.register_schema_version, SchemaId=schema, SchemaDefinition=f'"{kind}"'),
        )
    yield (
        "metadata",
        lambda: glue.put_schema_version_metadata(
            SchemaId=schema,
            SchemaVersionNumber={"VersionNumber": 1},
            MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "v"},
        ),
    )
    yield "a deletion", lambda: glue.delete_schema_versions(SchemaId=schema, Versions="2")
    yield "a subject", lambda: machine.confluent("/subjects/a-value/versions", {"schema": '"boolean"'})
    yield "a database", lambda: glue.create_database(DatabaseInput={"Name": "d"})
    yield "a table", lambda: glue.create_table(DatabaseName="d", TableInput=TABLE)
    yield (
        "a partition",
        lambda: glue.create_partition(
            DatabaseName="d",
            TableName="flights",
            PartitionInput={"Values": ["1"], "StorageDescriptor": TABLE["StorageDescriptor"]},
        ),
    )
    yield (
        "a connection",
        lambda: glue.create_connection(
            ConnectionInput={
                "Name": "c",
                "ConnectionType": "KAFKA",
                "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092"},
            }
        ),
    )
    yield (
        "a crawler",
        lambda: glue.create_crawler(Name="c", Role="r", DatabaseName="d", Targets={"S3Targets": [{"Path": "s3://lake/x/"}]}),
    )
    yield "a secret", lambda: secrets.create_secret(Name="s", SecretString="kept")
    yield "a secret's version", lambda: secrets.put_secret_value(SecretId="s", SecretString="kept as well")
    yield "a user", lambda: iam.create_user(UserName="u")
    yield "an access key", lambda: iam.create_access_key(UserName="u")
    yield (
        "a policy",
        lambda: iam.put_user_policy(
            UserName="u",
            PolicyName="p",
            PolicyDocument=json.dumps(
                {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "glue:*", "Resource": "*"}]}
            ),
        ),
    )
    yield (
        "an account",
        lambda: machine.client("organizations").create_account(Email="a@example.com", AccountName="second"),
    )
    yield "something of that account's", lambda: _of_the_account(machine)
    yield (
        "a statement",
        lambda: machine.client("athena").start_query_execution(
            QueryString="SELECT 1", ResultConfiguration={"OutputLocation": "s3://lake/results/"}
        ),
    )


def _of_the_account(machine: Powered) -> None:
    accounts = machine.client("organizations").list_accounts()["Accounts"]
    account = next(item["Id"] for item in accounts if item["Name"] == "second")
    role = f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole"
    given = machine.client("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    glue = machine.client(
        "glue",
        access_key_id=given["AccessKeyId"],
        secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
    glue.create_registry(RegistryName="theirs")


def test_each_acknowledged_write_is_on_the_disk_and_survives_a_power_loss(powered: Callable[..., Powered]) -> None:
    machine = powered()
    before = machine.shown()
    answer: Any = None
    for what, write in writes(machine):
        answer = write()
        if what == "a statement":
            break  # goes on by itself, and is looked at below
        shown = machine.shown()
        assert shown != before, f"{what} wrote nothing"
        assert machine.on_disk() == shown, f"{what} is not on the disk"
        before = shown
    subject = machine.confluent("/subjects/a-value/versions/1")
    given = machine.shown()["penstock.serial_counter"][0][1]
    machine.lose_power()
    glue = machine.client("glue")
    versions = glue.list_schema_versions(SchemaId={"RegistryName": "r", "SchemaName": "s"})["Schemas"]
    assert [version["VersionNumber"] for version in versions] == [1, 3, 4, 5, 6]
    assert glue.get_table(DatabaseName="d", Name="flights")["Table"]["Name"] == "flights"
    assert machine.client("secretsmanager").get_secret_value(SecretId="s")["SecretString"] == "kept as well"
    assert glue.get_connection(Name="c")["Connection"]["ConnectionProperties"]
    assert machine.client("athena").get_query_execution(QueryExecutionId=answer["QueryExecutionId"])
    assert machine.confluent("/subjects/a-value/versions/1") == subject
    # No record has the next id.
    another = {"schema": '{"type": "fixed", "name": "F", "size": 2}'}
    assert machine.confluent("/subjects/b-value/versions", another)["id"] == given + 1


def test_the_check_finds_what_is_not_synced(powered: Callable[..., Powered]) -> None:
    """With the level that trades the last commits for speed the same check sees them missing."""
    machine = powered(PENSTOCK_TEST_SYNCHRONOUS="NORMAL")
    machine.client("glue").create_registry(RegistryName="r")
    shown = machine.shown()
    assert shown["penstock.registries"]
    assert machine.on_disk()["penstock.registries"] == []


def test_the_pages_facts_on_the_embedded_broker_are_true(platform: Platform) -> None:
    """docs/operations/durability.md: one replica, no flush of its own, and a topic that asks for one has it."""
    settings = client_settings(platform.config.brokers, platform.config.kafka_username, platform.config.kafka_password)
    admin = AdminClient(settings)
    topics = {"as-it-comes": {}, "flushed": {"flush.messages": "1"}}
    made = admin.create_topics([NewTopic(name, 1, config=config) for name, config in topics.items()])
    for future in made.values():
        future.result(30)
    expected = [ConfigResource("topic", name) for name in topics]
    plain, flushed = (describe_config.result(30) for describe_config in admin.describe_configs(expected).values())
    assert int(plain["flush.messages"].value) == int(plain["flush.ms"].value) == 2**63 - 1
    assert int(flushed["flush.messages"].value) == 1
    described = admin.list_topics(timeout=30).topics
    assert {len(described[name].partitions[0].replicas) for name in topics} == {1}
