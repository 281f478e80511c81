"""The master key is changed while a server runs: no caller is locked out, nothing is lost, the old key decrypts nothing."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.interpreter import python_module
from penstock.store.sql.sealing import MasterKeys, key_id_of
from penstock.testing.clients import boto3_client
from penstock.testing.server import RunningServer, start_server

TRUST = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}'
)
SEALED = {"access_keys": "secret_sealed", "secret_versions": "value_sealed", "catalog_connection": "body_sealed"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    running = start_server(tmp_path / "home")
    yield running
    running.stop()


def client(server: RunningServer, service: str, **keys: str) -> Any:
    own = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    return boto3_client(service, server.endpoint_url, "us-east-1", **(own | keys))


def master_key(server: RunningServer, command: str, *, kill: bool = False) -> None:
    """Run ``penstock master-key COMMAND``; with ``kill`` it is killed as soon as the file has the new key."""
    file = server.home / "master.key"
    before = file.read_bytes()
    arguments = python_module("penstock", "master-key", command, "--home", str(server.home))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while kill and process.poll() is None:
        if file.read_bytes() != before:
            os.kill(process.pid, signal.SIGKILL)
            break
    output, _ = process.communicate(timeout=600)
    assert kill or process.returncode == 0, output.decode()


def used(server: RunningServer) -> set[str | None]:
    """Return the keys that stored values are encrypted with."""
    with closing(sqlite3.connect(server.home / "store" / "penstock.db")) as connection:
        return {
            key_id_of(value)
            for table, column in SEALED.items()
            for (value,) in connection.execute(f"SELECT {column} FROM {table}")
        }


def test_a_server_goes_on_through_a_rotation_and_a_killed_one(server: RunningServer) -> None:
    secrets, glue, iam = (client(server, service) for service in ("secretsmanager", "glue", "iam"))
    for number in range(30):
        secrets.create_secret(Name=f"s{number}", SecretString=f"kept {number}")
    glue.create_connection(
        ConnectionInput={"Name": "c", "ConnectionType": "KAFKA", "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "h:1"}}
    )
    iam.create_user(UserName="u")
    iam.create_access_key(UserName="u")
    role = iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.attach_role_policy(RoleName="r", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    given = client(server, "sts").assume_role(RoleArn=role, RoleSessionName="before")["Credentials"]
    session = {
        "access_key_id": given["AccessKeyId"],
        "secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }
    old = MasterKeys.load(server.home / "master.key").current.id

    master_key(server, "rotate", kill=True)
    secrets.create_secret(Name="while-it-is-half-done", SecretString="kept")
    master_key(server, "rotate")
    keys = MasterKeys.load(server.home / "master.key")
    assert used(server) == {keys.current.id}
    # Where the kill came too late, the second one was a rotation of its own.
    assert old in [key.id for key in keys.older]
    for number in range(30):
        assert secrets.get_secret_value(SecretId=f"s{number}")["SecretString"] == f"kept {number}"
    assert glue.get_connection(Name="c")["Connection"]["ConnectionProperties"]["KAFKA_BOOTSTRAP_SERVERS"] == "h:1"
    assert client(server, "sts", **session).get_caller_identity()["Arn"].endswith("/before")

    master_key(server, "forget")
    assert [key.id for key in MasterKeys.load(server.home / "master.key")] == [keys.current.id]
    assert secrets.get_secret_value(SecretId="s7")["SecretString"] == "kept 7"
    with pytest.raises(ClientError, match="security token"):
        client(server, "sts", **session).get_caller_identity()


def test_a_server_without_the_key_file_does_not_start_on_a_store_with_secrets(server: RunningServer, tmp_path: Path) -> None:
    client(server, "secretsmanager").create_secret(Name="kept", SecretString="s")
    store = f"sqlite:///{server.home / 'store' / 'penstock.db'}"
    other = tmp_path / "other"
    for command in ("serve", "serve-s3"):
        arguments = python_module("penstock", command, "--home", str(other), "--store-url", store, "--port", "0")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 3, done.stdout + done.stderr
        assert f"There is no master key file {other / 'master.key'}, and the store holds 2 values" in done.stderr
        assert not (other / "master.key").exists()
