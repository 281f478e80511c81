"""A full disk: the server reports it to writers and on /readyz, and no change is half done.

On this disk no file may grow beyond 3 MB (setrlimit(2)), which fails the server's writes like a full disk.
"""

import json
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from botocore.exceptions import ClientError

from penstock.interpreter import python_module
from penstock.testing.clients import boto3_client
from penstock.testing.server import RunningServer, start_server

SCHEMA = {"RegistryName": "r", "SchemaName": "s"}


@pytest.fixture
def full(tmp_path: Path) -> Iterator[RunningServer]:
    server = start_server(
        tmp_path / "home", program=["bash", "-c", 'ulimit -f 3072; exec "$@"', "bash", *python_module("penstock")]
    )
    yield server
    server.stop()


def ready(server: RunningServer) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"{server.endpoint_url}/readyz", timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def registered_as_confluent_does(server: RunningServer, schema: str) -> int:
    """The error's code."""
    request = urllib.request.Request(f"{server.endpoint_url}/subjects/a/versions", json.dumps({"schema": schema}).encode())
    user = f"{server.access_key_id}:{server.secret_access_key}"
    request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
    request.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    said = json.load(refused.value)
    assert "The store cannot be written: " in said["message"]
    return int(said["error_code"])


def client(server: RunningServer, service: str) -> Any:
    return boto3_client(
        service,
        server.endpoint_url,
        "us-east-1",
        access_key_id=server.access_key_id,
        secret_access_key=server.secret_access_key,
    )


def enum(number: int) -> str:
    """Return a definition of about 60 KB."""
    return json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}_{index:08d}" for index in range(4000)]})


def test_writes_and_readiness_report_a_full_disk_and_reads_go_on(full: RunningServer) -> None:
    glue = client(full, "glue")
    assert ready(full)[0] == 200
    glue.create_registry(RegistryName="r")
    glue.create_schema(
        RegistryId={"RegistryName": "r"},
        SchemaName="s",
        DataFormat="AVRO",
        Compatibility="NONE",
        SchemaDefinition=enum(0),
    )
    taken = 1
    with pytest.raises(ClientError) as refused:  # noqa: PT012 - which one is refused, only the disk knows
        for number in range(1, 200):
            glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=enum(number))
            taken += 1
    answer = refused.value.response
    assert answer["Error"]["Code"] == "InternalServiceException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert "The store cannot be written: " in answer["Error"]["Message"]
    assert "Free some space on its disk." in answer["Error"]["Message"]

    status, said = ready(full)
    assert (status, said["status"]) == (503, "unavailable")
    assert "disk" in said["store"]

    numbers = [schema["VersionNumber"] for schema in glue.list_schema_versions(SchemaId=SCHEMA)["Schemas"]]
    assert sorted(numbers) == list(range(1, taken + 1))
    with pytest.raises(ClientError) as refused:
        client(full, "secretsmanager").create_secret(Name="s", SecretString="x" * 60_000)
    assert "The store cannot be written: " in refused.value.response["Error"]["Message"]
    assert client(full, "secretsmanager").list_secrets()["SecretList"] == []
    assert registered_as_confluent_does(full, enum(1000)) == 50001


def test_a_disk_with_too_little_room_is_reported_before_it_is_full(tmp_path: Path) -> None:
    server = start_server(tmp_path / "home", arguments=["--min-free-mb", "1000000000"])
    try:
        status, said = ready(server)
    finally:
        server.stop()
    assert (status, said["status"]) == (503, "unavailable")
    for part in ("store", "lake"):
        assert said[part].startswith("its disk is full: ")
