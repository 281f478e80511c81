"""Glue's client over an empty registry, without a socket."""

import asyncio
from collections.abc import Iterator, MutableMapping
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.registry.operations import operations
from penstock.registry.service import RegistryService
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.registry.registry_client import ACCOUNT, V1, BytesBody, Silent


@pytest.fixture(scope="module")
def loop() -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def client() -> Any:
    """One client for all tests: botocore takes long to read Glue's model."""
    return boto3.client(
        "glue",
        region_name="us-east-1",
        endpoint_url="http://penstock.invalid",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def glue(loop: Any, client: Any) -> Iterator[Any]:
    """The client, whose requests go straight into the dispatcher over an empty registry."""
    table = EndpointTable([operations(RegistryService(SqlRegistryStore(new_database())))])
    app = AwsApp(table, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())

    def answer(request: Any, **_: str) -> Any:
        sent = []

        async def receive() -> Any:
            return {"type": "http.request", "body": request.body or b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        headers = [
            (key.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for key, value in request.headers.items()
        ]
        scope = {
            "type": "http", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"", "headers": headers,
            "client": ("test", 1), "server": ("test", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        loop.run_until_complete(app(scope, receive, send))
        fields: Any = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return AWSResponse(request.url, sent[0]["status"], fields, BytesBody(body))

    client.meta.events.register("before-send.glue", answer)
    yield client
    client.meta.events.unregister("before-send.glue", answer)
    app.close()


@pytest.fixture
def stored(glue: Any) -> SimpleNamespace:
    """Registry ``r`` with schema ``s`` (BACKWARD) of one version; the client and CreateSchema's answer."""
    glue.create_registry(RegistryName="r", Description="first", Tags={"team": "x"})
    created = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1
    )
    return SimpleNamespace(glue=glue, created=created, id=created["SchemaVersionId"], arn=created["SchemaArn"])
