"""The real server as a child process, talked to by boto3, the AWS CLI and bare HTTP."""

import base64
import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from penstock.errors import EnvironmentProblem
from penstock.testing.server import RunningServer, running_server, start_server
from tests.integration.aws_cli import aws


def http_call(server: RunningServer, request: AWSPreparedRequest) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, JSON body and headers of the answer to a prepared request."""
    where = urlsplit(server.endpoint_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    body = request.body
    assert body is None or isinstance(body, str | bytes)
    try:
        parts = urlsplit(request.url)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(request.method, target, body=body, headers=dict(request.headers))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def signed(
    server: RunningServer, target: str, body: bytes = b"{}", *, at: datetime | None = None, region: str = "us-east-1"
) -> AWSPreparedRequest:
    made = AWSRequest("POST", f"{server.endpoint_url}/", {"X-Amz-Target": target}, body)
    now = (at or datetime.now(UTC)).replace(tzinfo=None)
    with patch("botocore.auth.get_current_datetime", return_value=now):
        SigV4Auth(Credentials(server.access_key_id, server.secret_access_key), "glue", region).add_auth(made)
    return made.prepare()


def refusal(call: Callable[[], Any]) -> tuple[str, str]:
    """Code and message of the error that ``call`` ends with."""
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.response["Error"]["Code"], refused.value.response["Error"]["Message"]


def test_serves_boto3(penstock_server: RunningServer) -> None:
    glue = penstock_server.client("glue")
    glue.create_database(DatabaseInput={"Name": "served"})
    assert glue.get_database(Name="served")["Database"]["CatalogId"] == penstock_server.account
    glue.create_registry(RegistryName="served")
    schema = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    created = glue.create_schema(
        RegistryId={"RegistryName": "served"},
        SchemaName="s",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=schema,
    )
    found = glue.get_schema_version(SchemaVersionId=created["SchemaVersionId"])
    assert json.loads(found["SchemaDefinition"]) == json.loads(schema)
    athena = penstock_server.client("athena")
    assert athena.list_work_groups()["WorkGroups"][0]["Name"] == "primary"


def test_a_table_takes_its_columns_from_the_registry(penstock_server: RunningServer) -> None:
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName="columns")
    schema = '{"type":"record","name":"R","fields":[{"name":"a","type":["null","long"],"default":null,"doc":"how many"}]}'
    glue.create_schema(
        RegistryId={"RegistryName": "columns"},
        SchemaName="s",
        DataFormat="AVRO",
        Compatibility="NONE",
        SchemaDefinition=schema,
    )
    glue.create_database(DatabaseInput={"Name": "columns"})
    reference = {"SchemaId": {"RegistryName": "columns", "SchemaName": "s"}, "SchemaVersionNumber": 1}
    glue.create_table(DatabaseName="columns", TableInput={"Name": "t", "StorageDescriptor": {"SchemaReference": reference}})
    (column,) = glue.get_table(DatabaseName="columns", Name="t")["Table"]["StorageDescriptor"]["Columns"]
    assert (column["Name"], column["Type"], column["Comment"]) == ("a", "bigint", "how many")


def test_serves_the_aws_cli(penstock_server: RunningServer) -> None:
    made = aws(penstock_server, "secretsmanager", "create-secret", "--name", "cli", "--secret-string", '{"username":"ana"}')
    assert made.returncode == 0, made.stderr
    read = aws(penstock_server, "secretsmanager", "get-secret-value", "--secret-id", json.loads(made.stdout)["ARN"])
    assert json.loads(json.loads(read.stdout)["SecretString"]) == {"username": "ana"}
    missing = aws(penstock_server, "secretsmanager", "get-secret-value", "--secret-id", "nothing")
    assert missing.returncode != 0
    assert "(ResourceNotFoundException)" in missing.stderr
    assert "Secrets Manager can't find the specified secret." in missing.stderr
    foreign = aws(penstock_server, "glue", "get-databases", AWS_SECRET_ACCESS_KEY="another")
    assert "(InvalidSignatureException)" in foreign.stderr


def test_keeps_secrets_as_secrets_manager_does(penstock_server: RunningServer) -> None:
    client = penstock_server.client("secretsmanager")
    made = client.create_secret(Name="AmazonMSK_kept_a", SecretString="one", Tags=[{"Key": "team", "Value": "data"}])
    client.put_secret_value(SecretId="AmazonMSK_kept_a", SecretBinary=b"\x00two")
    assert client.get_secret_value(SecretId=made["ARN"][:-7])["SecretBinary"] == b"\x00two"
    assert client.get_secret_value(SecretId="AmazonMSK_kept_a", VersionStage="AWSPREVIOUS")["SecretString"] == "one"
    described = client.describe_secret(SecretId="AmazonMSK_kept_a")
    assert described["VersionIdsToStages"][made["VersionId"]] == ["AWSPREVIOUS"]
    assert abs(described["CreatedDate"] - datetime.now(UTC)) < timedelta(minutes=5)
    listed = client.list_secrets(Filters=[{"Key": "name", "Values": ["AmazonMSK_kept_"]}])["SecretList"]
    assert [secret["Name"] for secret in listed] == ["AmazonMSK_kept_a"]
    assert (
        client.list_secrets(
            Filters=[{"Key": "tag-key", "Values": ["!team"]}, {"Key": "name", "Values": ["AmazonMSK_kept_"]}]
        )["SecretList"]
        == []
    )
    assert refusal(lambda: client.create_secret(Name="AmazonMSK_kept_a", SecretString="x"))[0] == "ResourceExistsException"
    client.delete_secret(SecretId="AmazonMSK_kept_a")
    assert refusal(lambda: client.get_secret_value(SecretId="AmazonMSK_kept_a"))[0] == "InvalidRequestException"
    client.restore_secret(SecretId="AmazonMSK_kept_a")
    client.delete_secret(SecretId="AmazonMSK_kept_a", ForceDeleteWithoutRecovery=True)
    assert refusal(lambda: client.describe_secret(SecretId="AmazonMSK_kept_a"))[0] == "ResourceNotFoundException"


def test_pages_through_secrets_in_both_orders(penstock_server: RunningServer) -> None:
    client = penstock_server.client("secretsmanager")
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        client.create_secret(Name=name)
    only = [{"Key": "name", "Values": ["page-"]}]
    for order, wanted in (("asc", names), ("desc", names[::-1])):
        pages = client.get_paginator("list_secrets").paginate(
            Filters=only, SortOrder=order, PaginationConfig={"PageSize": 2}
        )
        assert [[secret["Name"] for secret in page["SecretList"]] for page in pages] == [wanted[:2], wanted[2:4], wanted[4:]]
    assert refusal(lambda: client.list_secrets(NextToken="made up"))[0] == "InvalidNextTokenException"


def test_refuses_wrong_credentials(penstock_server: RunningServer) -> None:
    code, message = refusal(penstock_server.client("glue", aws_secret_access_key="another").get_databases)
    assert code == "InvalidSignatureException"
    assert "does not match the signature you provided" in message
    code, message = refusal(penstock_server.client("glue", aws_access_key_id="AKIANOBODY0000000000").get_databases)
    assert (code, "security token included in the request is invalid" in message) == ("UnrecognizedClientException", True)
    code, message = refusal(penstock_server.client("glue", aws_session_token="token").get_databases)
    assert (code, "unset AWS_SESSION_TOKEN" in message) == ("UnrecognizedClientException", True)
    code, message = refusal(penstock_server.client("glue", region_name="eu-west-1").get_databases)
    assert (code, "valid region, not 'eu-west-1'" in message) == ("InvalidSignatureException", True)


@pytest.mark.parametrize(("off", "says"), [(-6, "Signature expired"), (6, "Signature not yet current")])
def test_sends_a_skewed_client_the_time(penstock_server: RunningServer, off: int, says: str) -> None:
    moment = datetime.now(UTC) + timedelta(minutes=off)
    status, body, headers = http_call(penstock_server, signed(penstock_server, "AWSGlue.GetDatabases", at=moment))
    assert (status, body["__type"]) == (400, "InvalidSignatureException")
    assert body["message"].startswith(says)
    assert datetime.strptime(headers["date"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC) > datetime.now(
        UTC
    ) - timedelta(minutes=1)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_serves_presigned_requests(penstock_server: RunningServer, method: str) -> None:
    penstock_server.client("secretsmanager").create_secret(Name=f"presigned-{method}", SecretString="x")
    body = json.dumps({"SecretId": f"presigned-{method}"}).encode()
    made = AWSRequest(method, f"{penstock_server.endpoint_url}/", {"X-Amz-Target": "secretsmanager.GetSecretValue"}, body)
    credentials = Credentials(penstock_server.access_key_id, penstock_server.secret_access_key)
    SigV4QueryAuth(credentials, "secretsmanager", "us-east-1", expires=60).add_auth(made)
    prepared = made.prepare()
    assert http_call(penstock_server, prepared)[1]["SecretString"] == "x"
    prepared.url = prepared.url.replace("X-Amz-Expires=60", "X-Amz-Expires=61")
    status, answer, _ = http_call(penstock_server, prepared)
    assert (status, answer["__type"]) == (400, "InvalidSignatureException")


@pytest.mark.parametrize(
    ("target", "body", "code", "says"),
    [
        (
            "AWSGlue.CreateJob",
            b"{}",
            "UnknownOperationException",
            "CreateJob is an operation of glue that Penstock does not",
        ),
        ("AWSGlue.Nothing", b"{}", "UnknownOperationException", "glue has no operation 'Nothing'"),
        ("Nobody.Nothing", b"{}", "UnknownOperationException", "There is no operation 'Nobody.Nothing'"),
        ("AWSGlue.GetDatabase", b"{", "SerializationException", "not JSON"),
        ("AWSGlue.GetDatabase", b"[" * 5_000, "SerializationException", "not JSON"),
        ("AWSGlue.GetDatabase", b"{}", "ValidationException", "Value null at 'name'"),
        ("AWSGlue.GetDatabase", b'{"Name":1}', "SerializationException", "NUMBER_VALUE can not be converted to a String"),
        ("AWSGlue.GetDatabase", b'{"Name":"none"}', "EntityNotFoundException", "Database none not found"),
    ],
)
def test_refusals_have_awss_text(penstock_server: RunningServer, target: str, body: bytes, code: str, says: str) -> None:
    status, answer, headers = http_call(penstock_server, signed(penstock_server, target, body))
    assert (status, answer["__type"], headers["x-amzn-errortype"]) == (400, code, code)
    assert says in (answer.get("Message") or answer["message"])
    assert headers["x-amzn-requestid"]


def test_an_oversize_body_gets_an_answer(penstock_server: RunningServer) -> None:
    body = b'{"Name":"' + b"x" * (11 * 1024 * 1024) + b'"}'
    status, answer, _ = http_call(penstock_server, signed(penstock_server, "AWSGlue.GetDatabase", body))
    assert (status, answer["__type"]) == (413, "RequestEntityTooLargeException")


def get(server: RunningServer, path: str) -> tuple[int, str]:
    where = urlsplit(server.endpoint_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    try:
        login = base64.b64encode(f"{server.access_key_id}:{server.secret_access_key}".encode()).decode()
        connection.request("GET", path, headers={"Authorization": f"Basic {login}"} if path == "/metrics" else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_reports_its_health(penstock_server: RunningServer) -> None:
    penstock_server.client("glue").get_databases()
    assert get(penstock_server, "/healthz")[0] == 200
    assert json.loads(get(penstock_server, "/readyz")[1])["status"] == "ready"
    metrics = get(penstock_server, "/metrics")[1]
    assert 'penstock_requests_total{code="OK",operation="GetDatabases",service="glue"}' in metrics
    assert 'penstock_request_seconds_bucket{le="0.01",operation="GetDatabases",service="glue"}' in metrics
    assert "penstock_requests_in_flight 0.0" in metrics


def test_logs_requests_and_no_secrets(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        server.client("secretsmanager").create_secret(Name="quiet", SecretString="hush-hush")
        refusal(server.client("glue", aws_secret_access_key="another").get_databases)
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    assert [(line["operation"], line["code"], line["principal"]) for line in lines] == [
        ("CreateSecret", "OK", "arn:aws:iam::000000000000:root"),
        ("unknown", "InvalidSignatureException", "-"),
    ]
    assert "hush-hush" not in server.log
    assert server.secret_access_key not in server.log
    assert b"hush-hush" not in b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    for path in (tmp_path / "master.key", tmp_path / "store"):
        assert path.stat().st_mode & 0o077 == 0


def test_two_workers_are_one_server(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--workers", "2"]) as server:
        for number in range(6):
            server.client("secretsmanager").create_secret(Name=f"s{number}", SecretString="x")
        for _ in range(6):
            assert len(server.client("secretsmanager").list_secrets()["SecretList"]) == 6
        metrics = get(server, "/metrics")[1]
    assert 'penstock_requests_total{code="OK",operation="CreateSecret",service="secretsmanager"} 6.0' in metrics
    assert server.process.returncode == 0


def test_a_dead_worker_is_replaced_and_a_killed_parent_leaves_none(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--workers", "2"]) as server:
        parent = psutil.Process(server.process.pid)
        workers = _workers(parent, 2)
        workers[0].kill()
        _wait_until(lambda: len(_listed(parent)) == 2 and workers[0] not in _listed(parent))
        assert json.loads(get(server, "/readyz")[1])["status"] == "ready"
        everyone = parent.children(recursive=True)
        server.stop(signal.SIGKILL)
        _wait_until(lambda: not any(child.is_running() for child in everyone))


def _listed(parent: psutil.Process) -> list[psutil.Process]:
    """The workers: children of the fork server."""
    found: list[psutil.Process] = []
    for child in parent.children(recursive=True):
        # One may end while it is looked at.
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.ppid() != parent.pid:
                found.append(child)
    return found


def _workers(parent: psutil.Process, count: int) -> list[psutil.Process]:
    _wait_until(lambda: len(_listed(parent)) == count)
    return _listed(parent)


def test_a_killed_server_keeps_what_it_answered(tmp_path: Path) -> None:
    first = start_server(tmp_path)
    first.client("secretsmanager").create_secret(Name="kept", SecretString="value")
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    second = start_server(tmp_path, access_key_id=first.access_key_id, secret_access_key=first.secret_access_key)
    try:
        assert second.client("secretsmanager").get_secret_value(SecretId="kept")["SecretString"] == "value"
    finally:
        assert second.stop() == 0


def test_shutdown_lets_requests_end(tmp_path: Path) -> None:
    """A request whose body is still coming in when SIGTERM comes is answered."""
    with running_server(tmp_path) as server:
        prepared = signed(server, "AWSGlue.GetDatabases")
        where = urlsplit(server.endpoint_url)
        head = "".join(f"{name}: {_text(value)}\r\n" for name, value in prepared.headers.items())
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=30) as connection:
            connection.sendall(f"POST / HTTP/1.1\r\nHost: {where.netloc}\r\n{head}\r\n".encode())
            _wait_until(lambda: "penstock_requests_in_flight 1.0" in get(server, "/metrics")[1])
            server.process.send_signal(signal.SIGTERM)
            _wait_until(lambda: _refuses(where.hostname or "", where.port or 0))
            connection.sendall(b"{}")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")
        assert server.process.wait(30) == 0


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _refuses(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def _wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "serve", "--home", str(tmp_path), "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 3
    assert f"Port {port} of 127.0.0.1 cannot be used" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_auth_warns_and_lets_everybody_in(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--no-auth"]) as server:
        assert (
            server.client("glue", aws_access_key_id="any", aws_secret_access_key="thing").get_databases()["DatabaseList"]
            == []
        )
    assert "WARNING: --no-auth" in server.log


def test_servers_that_start_at_once_share_a_home(tmp_path: Path) -> None:
    started: list[RunningServer] = []

    def start(name: str) -> None:
        started.append(start_server(tmp_path / "home", log_name=name))

    threads = [threading.Thread(target=start, args=(f"{number}.log",)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        one, two = started
        one.client("secretsmanager").create_secret(Name="shared", SecretString="x")
        assert two.client("secretsmanager").get_secret_value(SecretId="shared")["SecretString"] == "x"
    finally:
        for server in started:
            server.stop()


def test_a_database_of_a_newer_penstock_is_refused(tmp_path: Path) -> None:
    import sqlite3

    with running_server(tmp_path):
        pass
    connection = sqlite3.connect(tmp_path / "store" / "penstock.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(EnvironmentProblem, match=r"cannot be migrated.*newer Penstock"):
        start_server(tmp_path)
