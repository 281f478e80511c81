"""Each API counts the requests of an access key, and says over its rate that clients have to wait, in its own words."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest

from penstock.access.authenticate import Authenticator, KeyCache
from penstock.access.authorize import Authorizer
from penstock.access.bearer import BearerTokens
from penstock.access.sessions import Sessions
from penstock.api.confluent.app import ConfluentApp
from penstock.api.errors import Throttled
from penstock.api.iceberg.login import IcebergLogin
from penstock.api.limits import Limits, Throttle
from penstock.api.s3.app import S3App
from penstock.api.s3.call import Lake
from penstock.api.s3.identity import S3Authenticator
from penstock.api.s3.work import Work
from penstock.api.workers import Workers
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Uploads
from penstock.registry.service import RegistryService
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.protocol.dispatcher import CREDENTIALS, ID, KEY, World
from tests.unit.api.confluent.confluent_api import Recorder

ACCOUNT = KEY.account


def limits() -> Limits:
    """One request, and then none: the clock stands still."""
    return Limits(throttle=Throttle(1.0, clock=lambda: 0.0))


def keys() -> KeyCache:
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    store.add(KEY)
    return KeyCache(store)


def asked(
    app: Any, method: str, path: str, headers: dict[str, str], query: bytes = b""
) -> tuple[int, bytes, dict[bytes, bytes]]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
    }
    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(app({**scope, "headers": named, "client": ("127.0.0.1", 1), "scheme": "http"}, receive, send))
    return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])


def test_aws() -> None:
    world = World()
    login = world.app._login
    assert login is not None
    login._limits = world.app._limits = limits()
    answers = [world.call("AWSGlue.GetSchemaVersion", ID) for _ in range(2)]
    world.app.close()
    assert [answer.status for answer in answers] == [200, 400]
    assert (answers[1].body["__type"], answers[1].headers["retry-after"]) == ("ThrottlingException", "1")


def test_confluent() -> None:
    registry = RegistryService(SqlRegistryStore(new_database()))
    app = ConfluentApp(registry, keys=keys(), account=ACCOUNT, observer=Recorder(), limits=limits())
    basic = base64.b64encode(f"{CREDENTIALS.access_key}:{CREDENTIALS.secret_key}".encode()).decode()
    headers = {"host": "127.0.0.1", "authorization": f"Basic {basic}"}
    first, second = (asked(app, "GET", "/subjects", headers) for _ in range(2))
    app.close()
    assert (first[0], second[0], second[2][b"retry-after"]) == (200, 429, b"1")


def test_s3(tmp_path: Path) -> None:
    store = LakeStore(tmp_path / "lake")
    lake = Lake(account=ACCOUNT, store=store, uploads=Uploads(store))
    access = SqlAccessStore(new_database(), Sealer(bytes(32)))
    access.add(KEY)
    work = Work(threads=1)
    login = S3Authenticator(
        region="us-east-1",
        keys=keys(),
        sessions=Sessions(Sealer(bytes(32))),
        authorizer=Authorizer(access),
        run=work.run,
    )
    app = S3App(lambda _: lake, login, work=work, first=ACCOUNT, region="us-east-1", limits=limits())
    request = AWSRequest("GET", "http://127.0.0.1/", {"host": "127.0.0.1"})
    S3SigV4Auth(CREDENTIALS, "s3", "us-east-1").add_auth(request)
    first, second = (asked(app, "GET", "/", dict(request.headers.items())) for _ in range(2))
    work.close()
    assert b"SlowDown" not in first[1]
    assert (second[0], second[2][b"retry-after"]) == (503, b"1")
    assert b"<Code>SlowDown</Code>" in second[1]


def test_iceberg() -> None:
    seal, workers, limited = Sealer(bytes(32)), Workers(1, name="test"), limits()
    tokens = BearerTokens(seal=seal, sessions=Sessions(seal))
    login = IcebergLogin(Authenticator(keys=keys(), region="us-east-1"), tokens, limited, workers, insecure=True)
    form = (
        f"grant_type=client_credentials&client_id={CREDENTIALS.access_key}&client_secret={CREDENTIALS.secret_key}".encode()
    )

    async def token() -> int:
        return (await login.endpoint.answer(form.replace(b" ", b"+"), {}, "127.0.0.1", None)).answer.status

    assert asyncio.run(token()) == 200
    with pytest.raises(Throttled):
        asyncio.run(token())
    workers.close()
