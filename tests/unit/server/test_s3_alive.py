"""The endpoint answers its liveness path under its own name; below the name of a bucket every path is a key."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.server.s3 import ALIVE_PATH, build_s3_app
from penstock.settings.server import ServerSettings


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    (tmp_path / "lake" / "docs").mkdir(parents=True)
    return ServerSettings(
        store_url="sqlite://",
        lake=tmp_path / "lake",
        account_lakes=tmp_path / "lakes",
        master_key_file=tmp_path / "master.key",
        allowed_hosts=(".Lake.Example.com",),
        authenticate=False,
    )


async def request(settings: ServerSettings, method: str, host: bytes, body: bytes = b"") -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = ALIVE_PATH.encode()
    headers = [(b"host", host), (b"content-length", str(len(body)).encode())]
    scope = {"type": "http", "method": method, "path": ALIVE_PATH, "raw_path": raw, "query_string": b"", "headers": headers}
    await build_s3_app(settings)(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def test_it_is_alive_under_its_own_name(settings: ServerSettings) -> None:
    status, body = asyncio.run(request(settings, "GET", b"127.0.0.1:8751"))
    assert (status, body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("host", [b"docs.localhost:8751", b"docs.lake.example.com"])
def test_a_key_of_that_name_is_an_object(settings: ServerSettings, host: bytes) -> None:
    assert asyncio.run(request(settings, "PUT", host, b"mine"))[0] == 200
    assert (settings.lake / "docs" / "-" / "healthz").read_bytes() == b"mine"
    assert asyncio.run(request(settings, "GET", host)) == (200, b"mine")
