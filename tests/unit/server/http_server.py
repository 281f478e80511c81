"""An application behind the server's HTTP protocol, on a free port of the test's loop."""

import asyncio
import contextlib
import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from penstock.server.http import protocol as http
from penstock.server.http.hosts import HostRule
from penstock.server.http.protocol import BoundedProtocol, IncompleteRequests, tracked

__all__ = ["GOOD", "Server", "serving", "until"]

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
