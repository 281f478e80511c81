"""HTTP with bounds: how large a request's head is, how long a request may take to arrive, how many connections there are.

uvicorn's parser has none of them: a header without end fills the memory, and a connection that sends a byte now and then
holds its place for ever. What is refused here is refused before it is a request, so that the answer is one that both
interfaces' clients read: AWS's ``__type`` and ``message`` beside Confluent's ``error_code``.
"""

import asyncio
import re
import resource
import time
from typing import Any, NoReturn

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.server.http.hosts import HostRule, host_of

__all__ = ["MAX_HEADERS", "MAX_HEAD_BYTES", "BoundedProtocol", "SharingProtocol", "Waiting", "waiting"]

MAX_HEAD_BYTES = 64 * 1024  # the request line and all headers
MAX_HEADERS = 200
HEAD_SECONDS = 10.0
REQUEST_SECONDS = 60.0
_SWEEP_SECONDS = 1.0
_TURN_SECONDS = 0.000_05
_MOST_CONNECTIONS = 8_192
_SPARE_FILES = 256  # for the store, the compilers and the logs
_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
_TOO_LARGE = (431, "RequestHeadersTooLargeException", f"The request's head is larger than {MAX_HEAD_BYTES} bytes.")


class Waiting:
    """The connections whose next request is not whole yet, by when it has to be; the one that waits longest comes first.

    One for a process, used by its event loop alone.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.since: dict[BoundedProtocol, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, connection: "BoundedProtocol") -> None:
        """Note that ``connection`` began to wait."""
        self.since[connection] = connection.loop.time()
        if self._timer is None:
            self._timer = connection.loop.call_later(_SWEEP_SECONDS, self._tick, connection.loop)

    def end(self, connection: "BoundedProtocol") -> None:
        """Note that its request is there, or that it is gone."""
        self.since.pop(connection, None)

    def make_room(self, connections: int) -> bool:
        """Whether there may be so many connections; one that waits is closed where there are more, the oldest first."""
        if connections <= self.limit:
            return True
        oldest = next(iter(self.since), None)
        if oldest is None:
            return False
        oldest.refuse(503, "ServiceUnavailableException", "The server has as many connections as it can hold.")
        return True

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self.sweep(loop.time())
        self._timer = loop.call_later(_SWEEP_SECONDS, self._tick, loop) if self.since else None

    def sweep(self, now: float) -> None:
        """Close the connections whose requests take too long to arrive, but for those that the server itself holds up."""
        late = [
            connection
            for connection, since in self.since.items()
            if now - since > connection.allowed_seconds and not connection.flow.read_paused
        ]
        for connection in late:
            connection.refuse(
                408, "RequestTimeoutException", f"The request did not arrive within {connection.allowed_seconds:g} seconds."
            )


def _connection_limit() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(16, min(_MOST_CONNECTIONS, files - _SPARE_FILES))


waiting = Waiting(_connection_limit())


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with :data:`MAX_HEAD_BYTES`, :data:`MAX_HEADERS` and deadlines for what arrives.

    ``hosts`` says for which hosts it answers; None is every host.
    """

    def __init__(self, *arguments: Any, hosts: HostRule | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._hosts = hosts
        self._head_left = MAX_HEAD_BYTES
        self._headers_complete = False
        self._bodiless = 0  # bytes since the last one of a body: sizes of chunks, their extensions, trailers
        self._refusal: tuple[int, str, str] | None = None

    @property
    def allowed_seconds(self) -> float:
        """How long the request may take to arrive as far as it has to now."""
        return REQUEST_SECONDS if self._headers_complete else HEAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        waiting.start(self)
        if not waiting.make_room(len(self.connections)):
            self.refuse(503, "ServiceUnavailableException", "The server has as many connections as it can hold.")

    def connection_lost(self, exc: Exception | None) -> None:
        waiting.end(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        # Not only where a request begins: empty lines before it begin none.
        if (self.cycle is None or self.cycle.response_complete) and self not in waiting.since:
            waiting.start(self)
        # In pieces that end where the head has to end at the latest.
        rest = memoryview(data)
        while rest:
            piece = rest[: MAX_HEAD_BYTES if self._headers_complete else self._head_left]
            rest = rest[len(piece) :]
            self._bodiless += len(piece)
            if not self._headers_complete:
                self._head_left -= len(piece)
            super().data_received(piece)  # type: ignore[arg-type]
            if self.transport.is_closing():
                return
            if (not self._headers_complete and self._head_left <= 0) or self._bodiless > 2 * MAX_HEAD_BYTES:
                self.refuse(*_TOO_LARGE)
                return

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._headers_complete = False
        self._bodiless = 0
        if self not in waiting.since:
            waiting.start(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._headers_complete:
            # A trailer: the request is being answered already, and none of ours means anything (RFC 9110 section 6.5.1).
            return
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self._stop(431, "RequestHeadersTooLargeException", f"The request has more than {MAX_HEADERS} headers.")

    def on_headers_complete(self) -> None:
        # Several requests can come in one piece, where only what was parsed tells how large each one's head is.
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > MAX_HEAD_BYTES:
            self._stop(*_TOO_LARGE)
        self._check_host()
        self._headers_complete = True
        self._head_left = MAX_HEAD_BYTES
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bodiless = 0
        super().on_body(body)

    def _check_host(self) -> None:
        """RFC 9112 section 3.2: one Host that names a host; HTTP/1.0 may do without."""
        given = [value for name, value in self.headers if name == b"host"]
        if len(given) > 1:
            self._stop(400, "SerializationException", "The request has more than one Host header.")
        if not given and self.parser.get_http_version() != "1.0":
            self._stop(400, "SerializationException", "The request has no Host header.")
        # A target with a host of its own goes before the header (section 3.2.2): both have to be ours.
        absolute = None if self.url.startswith(b"/") else _ABSOLUTE.match(self.url)
        for value in (*given, *([absolute[1]] if absolute else [])):
            host = host_of(value)
            if host is None:
                self._stop(400, "SerializationException", "The request's host is not the name or address of one.")
            elif self._hosts is not None and not self._hosts.permits(host, self.server[0] if self.server else None):
                self._stop(
                    421,
                    "MisdirectedRequestException",
                    f"This server does not answer for the host '{host[:255]}'. To allow it, start it with --allowed-host.",
                )

    def _stop(self, status: int, code: str, message: str) -> NoReturn:
        """End the parser, in one of its callbacks, and answer."""
        self._refusal = (status, code, message)
        raise _Stopped

    def on_message_complete(self) -> None:
        super().on_message_complete()
        waiting.end(self)
        # What comes next is the head of another request.
        self._headers_complete = False

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP: uvicorn's word for it, or the bound that was broken."""
        self.refuse(*(self._refusal or (400, "SerializationException", msg)))

    def document(self, status: int, code: str, message: str) -> tuple[str, bytes]:
        """Media type and body of a refusal."""
        return "application/json", orjson.dumps({"__type": code, "message": message, "error_code": status})

    def refuse(self, status: int, code: str, message: str) -> None:
        """Answer, unless an answer is under way already, and close."""
        waiting.end(self)
        under_way = self.cycle is not None and not self.cycle.response_complete
        if not under_way or not self.cycle.response_started:
            kind, body = self.document(status, code, message)
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
                f"x-amzn-errortype: {code}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        if under_way:
            # Whoever works on the request need not wait for the rest of it, nor answer.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()


class SharingProtocol(BoundedProtocol):
    """For a worker beside others: leaves the next connection to one of them.

    All workers are woken for a connection, and the one that runs takes whichever come with it, so that connections opened
    together would all be its own. libuv slept for the same reason, for the shortest time there is.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        time.sleep(_TURN_SECONDS)
        super().connection_made(transport)


class _Stopped(Exception):
    """Raised in a callback of the parser, which stops there."""
