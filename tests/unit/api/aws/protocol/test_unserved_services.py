"""Answers to AWS's clients of other services: botocore makes the requests, and parses the answers."""

import asyncio
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.api.aws.protocol.unserved import UnservedServices, signed_service
from tests.unit.api.aws.loopback import Body, Silent


class Sent:
    """Sends botocore's requests to the application, without a network."""

    def __init__(self, taken: bool = True) -> None:
        self._app = UnservedServices(Silent())
        self._taken = taken

    def __call__(self, request: Any, **_: Any) -> AWSResponse:
        path, _, query = request.url.partition("://")[2].partition("/")[2].partition("?")
        headers = [
            (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for name, value in request.headers.items()
        ]
        scope = {
            "type": "http", "method": request.method, "path": f"/{path}", "query_string": query.encode(), "headers": headers,
        }  # fmt: skip
        assert self._app.takes(scope) is self._taken
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))
        result: Any = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return AWSResponse(request.url, sent[0]["status"], result, Body(sent[1]["body"]))


def client(service: str, **config: Any) -> Any:
    make_client: Any = boto3.client
    made = make_client(
        service, region_name="us-east-1", endpoint_url="http://localhost", aws_access_key_id="a/b",
        aws_secret_access_key="b", config=Config(retries={"max_attempts": 1}, **config),
    )  # fmt: skip
    made.meta.events.register(f"before-send.{service}", Sent())
    return made


@pytest.mark.parametrize(
    ("service", "operation", "request_", "code"),
    [
        ("dynamodb", "list_tables", {}, "UnknownOperationException"),
        ("sqs", "list_queues", {}, "UnknownOperationException"),
        ("lambda", "list_functions", {}, "UnknownOperationException"),
        ("s3", "list_objects_v2", {"Bucket": "b"}, "NotImplemented"),
        ("s3", "list_buckets", {}, "NotImplemented"),
        ("route53", "list_hosted_zones", {}, "NotImplemented"),
        ("sns", "list_topics", {}, "InvalidAction"),
        ("ec2", "describe_instances", {}, "InvalidAction"),
        ("cloudwatch", "list_metrics", {}, "UnknownOperationException"),
    ],
)
def test_each_protocol_reads_its_own_error(service: str, operation: str, request_: dict[str, Any], code: str) -> None:
    config = {"s3": {"addressing_style": "path"}} if service == "s3" else {}
    with pytest.raises(ClientError) as refused:
        getattr(client(service, **config), operation)(**request_)
    error = refused.value.response["Error"]
    assert error["Code"] == code
    name = {"cloudwatch": "monitoring"}.get(service, service)
    assert f"{name} is a service of AWS that Penstock does not serve. Give this client another endpoint" in error["Message"]


def test_a_presigned_url_is_one_too() -> None:
    url = client("s3", s3={"addressing_style": "path"}, signature_version="s3v4").generate_presigned_url(
        "get_object", Params={"Bucket": "b", "Key": "k"}
    )
    scope = {"path": "/b/k", "query_string": url.partition("?")[2].encode(), "headers": []}
    assert signed_service(scope) == "s3"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic YTpi",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=a/b/c",
        "AWS4-HMAC-SHA256 Credential=a/d/r/<x>/aws4_request",
    ],
)
def test_others_are_not_taken(authorization: str) -> None:
    headers = [(b"authorization", authorization.encode())]
    assert not UnservedServices(Silent()).takes({"path": "/subjects", "query_string": b"", "headers": headers})


def test_served_ones_are_not_taken_but_under_other_paths() -> None:
    for service, path, taken in (("glue", "/", False), ("iam", "/", False), ("glue", "/subjects", True)):
        headers = [
            (b"authorization", f"AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/{service}/aws4_request, x".encode())
        ]
        assert UnservedServices(Silent()).takes({"path": path, "query_string": b"", "headers": headers}) is taken
