"""Requests that are none, too large or never whole: each is answered in JSON and closed, and others are served."""

import asyncio
import contextlib
import json
import resource
import signal
import threading
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from penstock.server.http import protocol as http
from penstock.server.http import serving as serving_module
from penstock.server.http.hosts import HostRule, host_rule
from penstock.server.http.protocol import MAX_HEAD_BYTES, BoundedProtocol, IncompleteRequests, SharingProtocol, tracked
from penstock.server.http.serving import Listening, listen, serve_app

GOOD = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"


class Server:
    """An application behind the protocol, on a free port of the loop under test."""

    config: uvicorn.Config

    def __init__(self, state: ServerState, port: int, waiting: IncompleteRequests) -> None:
        self.state, self.port, self.waiting = state, port, waiting
        self.bodies: list[int] = []
        self.gone = self.received = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.hold: asyncio.Event | None = None
        self.hosts: HostRule | None = None

    async def app(self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                return
            body += message["body"]
            if not message["more_body"]:
                break
        self.bodies.append(len(body))
        if self.hold:
            await self.hold.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def connect(self, *parts: bytes) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        return reader, writer

    async def ask(self, *parts: bytes) -> Any:
        """Status and body of what is answered before the connection is closed."""
        reader, writer = await self.connect(*parts)
        try:
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        return int(head.split()[1]), json.loads(body), head.decode().lower()

    async def good(self) -> Any:
        reader, writer = await self.connect(GOOD)
        line = await reader.readline()
        writer.close()
        return line


class Counted(BoundedProtocol):
    """Tells the server of the test what came in."""

    server_of_test: Server

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.server_of_test.received += len(data)


def serving(work: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, limit: int = 100, **named: Any) -> None:
    """Run ``work`` with a server whose process may have ``limit`` connections; ``named`` goes to the protocol."""

    async def run() -> None:
        waiting = IncompleteRequests(limit)
        monkeypatch.setattr(http, "waiting", waiting)
        server = Server(ServerState(), 0, waiting)
        config = uvicorn.Config(
            tracked(server.app),
            http=BoundedProtocol,
            ws="none",
            log_level="critical",
            interface="asgi3",
            proxy_headers=False,
        )
        config.load()
        server.config = config
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: Counted(config=config, server_state=server.state, app_state={}, hosts=server.hosts, **named),
            "127.0.0.1",
            0,
        )
        server.port = listener.sockets[0].getsockname()[1]
        monkeypatch.setattr(Counted, "server_of_test", server, raising=False)
        try:
            await work(server)
            server.hosts = None
            assert b"200" in await server.good()
        finally:
            for writer in server.writers:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
            listener.close()
            await until(lambda: not server.state.connections)

    asyncio.run(asyncio.wait_for(run(), 20))


async def until(condition: Callable[..., Any]) -> None:
    while not condition():
        await asyncio.sleep(0)


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
def test_what_is_no_http_is_answered_in_json_that_both_apis_clients_read(
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
def test_what_is_no_body_behind_a_head_has_a_bound(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, _ = await server.connect(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + sent)
        assert (await reader.readline()).split()[1] == b"431"

    serving(work, monkeypatch)


def test_trailers_are_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("before", [b"", GOOD], ids=["at first", "behind another"])
@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (b"\r\n", 10),
        (b"POST / HT", 10),
        (b"POST / HTTP/1.1\r\nx: y\r\n", 10),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{", 60),
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(
    before: bytes, sent: bytes, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(server: Server) -> None:
        reader, writer = await server.connect(before)
        if before:
            await reader.readuntil(b"ok")
        writer.write(sent)
        await until(lambda: server.received == len(before + sent))
        now = asyncio.get_running_loop().time()
        server.waiting.sweep(now + seconds - 1)
        assert len(server.state.connections) == 1
        server.waiting.sweep(now + seconds + 1)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["__type"] == "RequestTimeoutException"
        await until(lambda: not server.state.connections)
        assert not server.waiting.since
        assert server.gone == sent.endswith(b"{")

    serving(work, monkeypatch)


def test_a_connection_without_any_request_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, _ = await server.connect()
        await until(lambda: server.waiting.since)
        server.waiting.sweep(asyncio.get_running_loop().time() + 11)
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")

    serving(work, monkeypatch)


def test_a_request_that_is_worked_on_has_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        hold = server.hold = asyncio.Event()
        reader, _ = await server.connect(GOOD)
        await until(lambda: server.bodies)
        server.waiting.sweep(asyncio.get_running_loop().time() + 1_000)
        hold.set()
        assert b"200" in await reader.readline()

    serving(work, monkeypatch)


def test_one_that_waits_makes_room_for_one_that_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        slow = [await server.connect(b"POST / HTTP/1.1\r\n") for _ in range(5)]
        await until(lambda: len(server.state.connections) == 5)
        assert b"200" in await server.good()
        head, _, body = (await slow[0][0].read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert json.loads(body)["error_code"] == 503
        slow[1][1].write(b"host: x\r\ncontent-length: 0\r\n\r\n")
        assert b"200" in await slow[1][0].readline()
        for _, writer in slow:
            writer.close()

    serving(work, monkeypatch, limit=5)


def test_connections_are_swept_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.002)

    async def work(server: Server) -> None:
        status, _, _ = await server.ask(b"POST / HT")
        assert status == 408
        await until(lambda: not server.state.connections)
        monkeypatch.setattr(http, "HEAD_SECONDS", 10.0)

    serving(work, monkeypatch)


@pytest.mark.parametrize("inner", [HttpToolsProtocol, H11Protocol])
def test_the_bounds_use_nothing_of_what_serves_behind_them(inner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server) -> None:
        reader, writer = await server.connect(GOOD + GOOD)
        for _ in range(2):
            await reader.readuntil(b"ok")
        assert server.bodies == [2, 2]
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
        await until(lambda: any(each.under_way for each in server.waiting.since))
        server.waiting.sweep(asyncio.get_running_loop().time() + 61)
        assert b"408 " in (await reader.read())
        await until(lambda: server.gone == 1)
        server.hold = asyncio.Event()
        reader, writer = await server.connect(GOOD)
        await until(lambda: len(server.bodies) == 3)
        writer.write(b"NONSENSE\r\n\r\n")
        assert json.loads((await reader.read()).partition(b"\r\n\r\n")[2])["error_code"] == 400
        server.hold.set()
        server.hold = None

    serving(work, monkeypatch, inner=inner)


def test_the_limit_leaves_files_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1_024, 4_096))
    assert http._connection_limit() == 768
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, 0))
    assert http._connection_limit() == 8_192
    assert MAX_HEAD_BYTES == 65_536


def test_a_worker_beside_others_steps_back_from_each_connection_before_it_serves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: seen.append(0 < seconds < 0.001))
    monkeypatch.setattr(BoundedProtocol, "connection_made", lambda *_: seen.append("served"))
    nobody: Any = None
    SharingProtocol.connection_made(SharingProtocol.__new__(SharingProtocol), nobody)
    assert seen == [True, "served"]


def test_an_exit_that_python_dropped_is_made_up_for_before_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_module, "_leaving", threading.Event())
    before = signal.getsignal(signal.SIGTERM)
    listening = Listening(host="127.0.0.1", port=0)

    signal.signal(signal.SIGTERM, serving_module.leave)
    try:
        with contextlib.suppress(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        with listen(listening) as listener, pytest.raises(SystemExit) as ended:
            serve_app(Starlette, listener, listening)
        assert ended.value.code == 0
    finally:
        signal.signal(signal.SIGTERM, before)
