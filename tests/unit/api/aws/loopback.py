"""Requests of boto3 answered by the dispatcher in this process, without a socket."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.observer import CompletedRequest
from penstock.api.s3.app import S3App

__all__ = ["ACCOUNT", "MODEL", "Body", "Loopback", "Silent", "loopback_client", "sample"]

ACCOUNT = "000000000000"


MODEL = botocore.session.get_session().get_service_model("glue")


class Silent:
    def started(self) -> None:
        pass

    def finished(self, request: CompletedRequest) -> None:
        pass


class Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data


class Loopback:
    """Answers boto3's prepared requests from an ASGI application."""

    def __init__(self, app: AwsApp | S3App) -> None:
        self._app = app

    def __call__(self, request: Any, **_kwargs: Any) -> AWSResponse:
        sent: list[dict[str, Any]] = []
        body = request.body or b""
        headers = [
            (str(k).lower().encode(), v if isinstance(v, bytes) else str(v).encode()) for k, v in request.headers.items()
        ]
        address = urlsplit(request.url)
        scope = {
            "type": "http",
            "method": request.method,
            "path": address.path or "/",
            "raw_path": (address.path or "/").encode(),
            "query_string": address.query.encode(),
            "headers": [*headers, (b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body.encode() if isinstance(body, str) else body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))
        status = next(entry["status"] for entry in sent if entry["type"] == "http.response.start")
        result: Any = {k.decode(): v.decode() for entry in sent if "headers" in entry for k, v in entry["headers"]}
        data = b"".join(entry.get("body", b"") for entry in sent)
        return AWSResponse(request.url, status, result, Body(data))


def loopback_client(service: str, app: AwsApp | S3App) -> Any:
    """Return a client of boto3 whose requests ``app`` answers, without retries."""
    config = Config(retries={"max_attempts": 0}, parameter_validation=False, s3={"addressing_style": "path"})
    made: Any = boto3.client(  # type: ignore[call-overload] # one overload for each service
        service,
        region_name="us-east-1",
        endpoint_url="http://localhost",
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="secret",
        config=config,
    )
    made.meta.events.register("before-send.*.*", Loopback(app))
    return made


def sample(shape: Shape, depth: int = 0) -> Any:
    """A value with every member that ``shape`` has."""
    if isinstance(shape, StructureShape):
        return {name: sample(member, depth + 1) for name, member in shape.members.items()} if depth < 8 else {}
    if isinstance(shape, ListShape):
        return [sample(shape.member, depth + 1)]
    if isinstance(shape, MapShape):
        return {sample(shape.key, depth + 1): sample(shape.value, depth + 1)}
    if isinstance(shape, StringShape) and shape.enum:
        return shape.enum[0]
    plain = {"timestamp": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "boolean": True, "integer": 1, "long": 1}
    special = {
        "SchemaVersionIdString": "12345678-1234-1234-1234-123456789012",
        "GlueResourceArn": "arn:aws:glue:us-east-1:000000000000:schema/r/s",
        "ArnString": "arn:aws:iam::000000000000:role/x",
    }
    return plain.get(shape.type_name, special.get(shape.name, shape.name.lower()[:20]))
