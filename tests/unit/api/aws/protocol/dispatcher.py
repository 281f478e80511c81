"""The dispatcher called as ASGI without a socket."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.authenticate import Authenticator, KeyCache
from penstock.access.keys import AccessKey
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import OperationSet, RequestContext, RunOnThread
from penstock.api.observer import CompletedRequest
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

__all__ = ["CREDENTIALS", "ID", "KEY", "Answer", "Handlers", "Noted", "World", "as_bytes"]

KEY = AccessKey(
    access_key_id="AKIAIOSFODNN7EXAMPLE",
    secret_access_key="a secret of thirty characters.",
    account="111122223333",
    principal="arn:aws:iam::111122223333:user/ana",
    created=datetime(2026, 1, 1, tzinfo=UTC),
)


CREDENTIALS = Credentials(KEY.access_key_id, KEY.secret_access_key)


class Handlers:
    """Handlers that record their requests."""

    def __init__(self) -> None:
        self.seen: list[tuple[Mapping[str, Any], RequestContext, str]] = []
        self.failure: Exception | None = None
        self.longer = False

    def __call__(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        self.seen.append((request, context, threading.current_thread().name))
        if self.failure is not None:
            raise self.failure
        if self.longer and context.on_loop:
            raise RunOnThread
        return {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63", "VersionNumber": 1, "Unmodelled": 1}


@dataclass
class Noted:
    served: list[CompletedRequest] = field(default_factory=list)
    in_flight: int = 0

    def started(self) -> None:
        self.in_flight += 1

    def finished(self, request: CompletedRequest) -> None:
        self.in_flight -= 1
        self.served.append(request)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def message(self) -> str:
        return str(self.body.get("Message") or self.body.get("message"))


class World:
    def __init__(self, *, authenticated: bool = True) -> None:
        store = SqlAccessStore(new_database(), Sealer(bytes(32)))
        store.add(KEY)
        self.handlers = Handlers()
        self.noted = Noted()
        sets = [
            OperationSet(
                service="glue",
                handlers={"GetSchemaVersion": self.handlers, "RegisterSchemaVersion": self.handlers},
                inline=frozenset({"GetSchemaVersion"}),
                bounded=frozenset({"RegisterSchemaVersion"}),
            ),
            OperationSet(service="athena", handlers={"GetQueryExecution": self.handlers}),
            OperationSet(service="iam", handlers={"GetUser": self.handlers}),
            OperationSet(service="secretsmanager", handlers={"GetSecretValue": self.handlers}),
        ]
        authenticator = Authenticator(keys=KeyCache(store), region="us-east-1") if authenticated else None
        self.app = AwsApp(
            EndpointTable(sets), authenticator=authenticator, account="000000000000", region="us-east-1", observer=self.noted
        )

    def send(self, made: AWSRequest, *, chunks: list[bytes] | None = None) -> Answer:
        """Return the answer to a request; ``chunks`` is the body in pieces, by default one."""
        prepared = made.prepare()
        path, _, query = prepared.url.removeprefix("http://localhost").partition("?")
        headers = [(b"host", b"localhost")]
        headers += [
            (name.lower().encode(), as_bytes(value)) for name, value in prepared.headers.items() if name.lower() != "host"
        ]
        scope = {
            "type": "http",
            "method": prepared.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }
        sent: list[Any] = []
        coming = list(chunks) if chunks is not None else [as_bytes(prepared.body or b"")]

        async def receive() -> Any:
            if not coming:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        if not sent:
            return Answer(0, {}, {})
        start, *rest = sent
        assert [message.get("more_body", False) for message in rest] == [True] * (len(rest) - 1) + [False]
        answered = b"".join(message["body"] for message in rest)
        headers_sent = {name.decode(): value.decode() for name, value in start["headers"]}
        assert int(headers_sent["content-length"]) == len(answered)
        is_xml = answered.startswith(b"<")
        return Answer(start["status"], headers_sent, {"xml": answered} if is_xml else orjson.loads(answered))

    def call(self, target: str, body: Any = None, *, service: str = "glue", **headers: str) -> Answer:
        """The answer to a signed request."""
        data = body if isinstance(body, bytes) else orjson.dumps({} if body is None else body)
        made = AWSRequest(
            "POST",
            "http://localhost/",
            {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"} | headers,
            data,
        )
        SigV4Auth(CREDENTIALS, service, "us-east-1").add_auth(made)
        return self.send(made)


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


ID = {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"}
