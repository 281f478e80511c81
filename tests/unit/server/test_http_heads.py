"""Requests whose head or host is wrong or too large: each is answered in JSON and closed."""

import contextlib
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from penstock.server.http.hosts import host_rule
from penstock.server.http.protocol import MAX_HEAD_BYTES, tracked
from tests.unit.server.http_server import GOOD, Server, serving, until


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((b"\x16\x03\x01\x02\x00\x01\x00\x01",), id="TLS"),
        pytest.param((b"NONSENSE\r\n\r\n",), id="no request line"),
        pytest.param((b"GET / HTTP/9.9\r\n\r\n",), id="no such version"),
        pytest.param((b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",), id="a negative length"),
        pytest.param((b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",), id="two lengths"),
        pytest.param((b"POST / HTTP/1.1\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\n",), id="a length that is none"),
        pytest.param((b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",), id="chunks of no size"),
        pytest.param((b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",), id="a path that is none"),
        pytest.param((b"GET / HTTP/1.1\r\nbad header\r\n\r\n",), id="a header that is none"),
    ],
)
def test_bytes_that_are_not_http_are_answered_in_json_that_clients_of_both_apis_read(
    parts: tuple[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(server: Server) -> None:
        status, body, head = await server.ask(*parts)
        assert (status, body["__type"], body["error_code"]) == (400, "SerializationException", 400)
        assert body["message"]
        assert "content-type: application/json" in head
        assert "x-amzn-errortype: serializationexception" in head

    serving(work, monkeypatch)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([b"GET / HTTP/1.1\r\nx: ", *[b"a" * 10_000] * 40], id="a header without end"),
        pytest.param([b"GET /", *[b"a" * 10_000] * 40], id="a path without end"),
        pytest.param([b"GET / HTTP/1.1\r\nx: " + b"a" * 400_000], id="at once"),
        pytest.param([b"GET / HTTP/1.1\r\n", *[b"x%d: y\r\n" % n for n in range(100_000)]], id="headers without end"),
        pytest.param([b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(201)) + b"\r\n"], id="201 headers"),
        pytest.param([b"\r\n" * 60_000], id="empty lines without end"),
    ],
)
def test_a_head_without_end_is_refused(parts: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        # A client that is still sending may see its connection reset before the answer.
        with contextlib.suppress(ConnectionError, IndexError):
            status, body, _ = await server.ask(*parts)
            assert (status, body["__type"], body["error_code"]) == (431, "RequestHeadersTooLargeException", 431)
        await until(lambda: not server.state.connections)
        assert server.bodies == []

    serving(work, monkeypatch)


def _head(size: int, *, last: bytes = b"\r\n\r\n") -> bytes:
    """A request's head of exactly ``size`` bytes."""
    start = b"GET / HTTP/1.1\r\nhost: x\r\nx: "
    return start + b"a" * (size - len(start) - len(last)) + last


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize(("size", "status"), [(MAX_HEAD_BYTES, 200), (MAX_HEAD_BYTES + 1, 431), (70_000, 431)])
def test_the_bound_of_a_head_is_exact(size: int, status: int, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        head = _head(size)
        step = -(-size // pieces)
        reader, _ = await server.connect(*(head[start : start + step] for start in range(0, size, step)))
        assert (await reader.readline()).split()[1] == b"%d" % status

    serving(work, monkeypatch)


def test_the_head_of_a_request_that_comes_with_another_has_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, _ = await server.connect(GOOD + _head(70_000))
        answers = await reader.read()
        assert b"431 " in answers
        assert server.bodies in ([], [2])

    serving(work, monkeypatch)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"0\r\nx: " + b"a" * 200_000, id="a trailer"),
        pytest.param(b"1;x=" + b"a" * 200_000, id="an extension of a chunk"),
    ],
)
def test_bytes_after_a_head_without_a_body_are_bounded(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, _ = await server.connect(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + sent)
        assert (await reader.readline()).split()[1] == b"431"

    serving(work, monkeypatch)


def test_trailers_are_not_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        seen = []
        inner = server.app

        async def app(scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
            await inner(scope, receive, send)
            seen.append([name for name, _ in scope["headers"]])

        server.config.loaded_app = tracked(app)
        reader, _ = await server.connect(
            b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-amz-target: y\r\n\r\n"
        )
        assert b"200" in await reader.readline()
        await until(lambda: seen)
        assert seen == [[b"host", b"transfer-encoding"]]
        server.config.loaded_app = tracked(inner)

    serving(work, monkeypatch)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nhost: x\r\nhost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost:\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: user@x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x/y\r\n\r\n", 400),
        (b"GET http://a@b/ HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", 200),
        (b"GET http://x/ HTTP/1.1\r\nhost: x\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nhost: anything.example\r\n\r\n", 200),
    ],
)
def test_a_request_has_one_host(request_head: bytes, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, _ = await server.connect(request_head)
        assert (await reader.readline()).split()[1] == b"%d" % status

    serving(work, monkeypatch)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET / HTTP/1.1\r\nhost: localhost:8750\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nhost: lake.localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nhost: lake.example.com\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nhost: rebound.example\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nhost: localhost.example\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nhost: 127.0.0.1.example\r\n\r\n", 421),
        (b"GET http://rebound.example/ HTTP/1.1\r\nhost: localhost\r\n\r\n", 421),
    ],
)
def test_a_foreign_host_is_not_answered(request_head: bytes, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        server.hosts = host_rule("127.0.0.1", [".example.com"])
        reader, _ = await server.connect(request_head)
        assert (await reader.readline()).split()[1] == b"%d" % status

    serving(work, monkeypatch)


def test_large_heads_and_bodies_within_the_bounds_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        head = b"POST / HTTP/1.1\r\nhost: x\r\n" + b"".join(b"x%d: %s\r\n" % (n, b"y" * 300) for n in range(190))
        body = b"z" * 3_000_000
        reader, writer = await server.connect(head + b"content-length: %d\r\n\r\n" % len(body), body)
        for _ in range(3):
            assert b"200" in await reader.readline()
            await reader.readuntil(b"ok")
            writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        await reader.readuntil(b"ok")
        assert server.bodies == [len(body)] * 4
        writer.close()

    serving(work, monkeypatch)
