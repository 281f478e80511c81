"""Requests that are never whole, connections that wait, and what a process may have of both."""

import asyncio
import contextlib
import json
import resource
import signal
import threading
import time
from typing import Any

import pytest
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.server.http import protocol as http
from penstock.server.http import serving as serving_module
from penstock.server.http.protocol import MAX_HEAD_BYTES, BoundedProtocol, SharingProtocol
from penstock.server.http.serving import Listening, listen, serve_app
from tests.unit.server.http_server import GOOD, Server, serving, until


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


def test_a_request_that_is_being_processed_has_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
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
        await until(lambda: any(bounded_protocol.under_way for bounded_protocol in server.waiting.since))
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
