"""The real server's answers to boto3, the AWS CLI and bare HTTP."""

import http.client
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.credentials import Credentials

from penstock.testing.server import RunningServer
from tests.integration.aws_cli import aws
from tests.integration.server.bare_http import refusal, signed


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
    schema_version = glue.get_schema_version(SchemaVersionId=created["SchemaVersionId"])
    assert json.loads(schema_version["SchemaDefinition"]) == json.loads(schema)
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
    for order, expected in (("asc", names), ("desc", names[::-1])):
        pages = client.get_paginator("list_secrets").paginate(
            Filters=only, SortOrder=order, PaginationConfig={"PageSize": 2}
        )
        assert [[secret["Name"] for secret in page["SecretList"]] for page in pages] == [
            expected[:2],
            expected[2:4],
            expected[4:],
        ]
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
            "AWSGlue.CreateBlueprint",
            b"{}",
            "UnknownOperationException",
            "CreateBlueprint is an operation of glue that Penstock does not",
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
