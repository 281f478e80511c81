"""Secrets rotated by a function of the shape of AWS's published templates, run by ``penstock functions rotate``."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer, running_server

# The shape of AWS's templates: what is looked at before each step, and the calls of each.
HANDLER = """
import json, os
import boto3

def handler(event, context):
    client = boto3.client("secretsmanager")
    arn, token, step = event["SecretId"], event["ClientRequestToken"], event["Step"]
    known = client.describe_secret(SecretId=arn)
    if not known["RotationEnabled"]:
        raise ValueError("rotation is not enabled")
    stages = known["VersionIdsToStages"]
    if token not in stages or "AWSPENDING" not in stages[token]:
        raise ValueError("the version is not set as AWSPENDING")
    if step == "createSecret":
        current = json.loads(client.get_secret_value(SecretId=arn, VersionStage="AWSCURRENT")["SecretString"])
        try:
            client.get_secret_value(SecretId=arn, VersionId=token, VersionStage="AWSPENDING")
        except client.exceptions.ResourceNotFoundException:
            current["password"] = client.get_random_password(ExcludePunctuation=True)["RandomPassword"]
            client.put_secret_value(
                SecretId=arn, ClientRequestToken=token, SecretString=json.dumps(current), VersionStages=["AWSPENDING"]
            )
    elif step == "setSecret":
        pending = json.loads(client.get_secret_value(SecretId=arn, VersionStage="AWSPENDING")["SecretString"])
        with open("database", "w") as file:
            file.write(pending["password"])
    elif step == "testSecret":
        pending = json.loads(client.get_secret_value(SecretId=arn, VersionId=token)["SecretString"])
        if os.path.exists("refuse") or open("database").read() != pending["password"]:
            raise ValueError("the new password does not log in")
    else:
        holder = next(version for version, labels in stages.items() if "AWSCURRENT" in labels)
        client.update_secret_version_stage(
            SecretId=arn, VersionStage="AWSCURRENT", MoveToVersionId=token, RemoveFromVersionId=holder
        )
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(HANDLER)
    (tmp_path / "function.yaml").write_text("FunctionName: rotator\nHandler: app.handler\nTimeout: 30\nMemorySize: 512\n")
    return tmp_path


def run(server: RunningServer, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_REGION": server.region,
        "AWS_DEFAULT_REGION": server.region,
    }
    command = [sys.executable, "-m", "penstock", "functions", "rotate", "function.yaml", "--once"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def arn(server: RunningServer) -> str:
    return f"arn:aws:lambda:{server.region}:{server.account}:function:rotator"


def refused(call: Any, **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return str(caught.value.response["Error"]["Code"])


def test_a_function_of_awss_shape_rotates_a_secret(server: RunningServer, folder: Path) -> None:
    client = server.client("secretsmanager")
    first = client.create_secret(Name="login", SecretString='{"username": "ana", "password": "old"}')["VersionId"]
    assert refused(client.rotate_secret, SecretId="login") == "InvalidRequestException"
    begun = client.rotate_secret(SecretId="login", RotationLambdaARN=arn(server))
    stages = client.describe_secret(SecretId="login")["VersionIdsToStages"]
    assert stages == {first: ["AWSCURRENT"], begun["VersionId"]: ["AWSPENDING"]}
    assert refused(client.get_secret_value, SecretId="login", VersionStage="AWSPENDING") == "ResourceNotFoundException"
    assert refused(client.rotate_secret, SecretId="login") == "InvalidRequestException"
    assert "old" in client.get_secret_value(SecretId="login")["SecretString"]
    done = run(server, folder)
    assert done.returncode == 0, done.stderr
    assert f"{begun['ARN']} is rotated: version {begun['VersionId']}." in done.stdout
    value = client.get_secret_value(SecretId="login")
    assert value["VersionId"] == begun["VersionId"]
    assert (folder / "database").read_text() in value["SecretString"]
    known = client.describe_secret(SecretId="login")
    assert (known["RotationEnabled"], known["RotationLambdaARN"]) == (True, arn(server))
    assert known["LastRotatedDate"] >= known["CreatedDate"]
    assert known["VersionIdsToStages"][first] == ["AWSPREVIOUS"]
    assert run(server, folder).stdout == ""  # nothing waits any more
    again = client.rotate_secret(SecretId="login")["VersionId"]
    assert run(server, folder).returncode == 0
    assert client.get_secret_value(SecretId="login")["VersionId"] == again


def test_a_rotation_that_fails_leaves_the_value_and_is_tried_again(server: RunningServer, folder: Path) -> None:
    client = server.client("secretsmanager")
    client.create_secret(Name="kept", SecretString='{"password": "old"}')
    version = client.rotate_secret(SecretId="kept", RotationLambdaARN=arn(server))["VersionId"]
    (folder / "refuse").touch()
    failed = run(server, folder)
    assert failed.returncode == 4
    assert "testSecret failed: ValueError: the new password does not log in" in failed.stderr
    assert client.get_secret_value(SecretId="kept")["SecretString"] == '{"password": "old"}'
    (folder / "refuse").unlink()
    assert run(server, folder).returncode == 0
    assert client.get_secret_value(SecretId="kept")["VersionId"] == version


def test_a_cancelled_rotation_is_not_done(server: RunningServer, folder: Path) -> None:
    client = server.client("secretsmanager")
    client.create_secret(Name="cancelled", SecretString='{"password": "old"}')
    assert refused(client.cancel_rotate_secret, SecretId="cancelled") == "InvalidRequestException"
    version = client.rotate_secret(SecretId="cancelled", RotationLambdaARN=arn(server))["VersionId"]
    client.cancel_rotate_secret(SecretId="cancelled")
    assert client.describe_secret(SecretId="cancelled")["RotationEnabled"] is False
    assert run(server, folder).stdout == ""
    client.update_secret_version_stage(SecretId="cancelled", VersionStage="AWSPENDING", RemoveFromVersionId=version)
    client.rotate_secret(SecretId="cancelled")
    assert run(server, folder).returncode == 0
    assert refused(client.rotate_secret, SecretId="cancelled", RotationLambdaARN="x") == "InvalidParameterException"
