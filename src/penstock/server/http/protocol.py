"""HTTP with limits: of the size of a request's head, of the time a request takes to arrive, of the number of connections.

uvicorn has none of them: an endless header fills the memory, and a connection that sends a byte now and then stays open for
ever. So this protocol wraps uvicorn's, and also parses the data (ADR 24). It refuses data before they are a request, with an
answer that the clients of both APIs can read: AWS's ``__type`` and ``message`` beside Confluent's ``error_code``.
"""

import asyncio
import logging
import re
import resource
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import httptools
import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.server.http.hosts import HostRule, host_of

__all__ = [
    "MAX_HEADERS",
    "MAX_HEAD_BYTES",
    "BoundedProtocol",
    "IncompleteRequests",
    "SharingProtocol",
    "draining",
    "tracked",
    "waiting",
]

_log = logging.getLogger("penstock.server")

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
_CONNECTION = "penstock.connection"  # in the state of a request
_INVALID = (400, "SerializationException", "Invalid HTTP request received.")
_TOO_LARGE = (431, "RequestHeadersTooLargeException", f"The request's head is larger than {MAX_HEAD_BYTES} bytes.")


class IncompleteRequests:
    """The connections whose next request is incomplete, with its deadline; the one that waits longest comes first.

    There is one per process, used only by its event loop.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.connections = 0
        """The number of all connections, waiting or not."""
        self.since: dict[BoundedProtocol, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, connection: "BoundedProtocol") -> None:
        """Record that ``connection`` began to wait."""
        self.since[connection] = connection.loop.time()
        if self._timer is None:
            self._timer = connection.loop.call_later(_SWEEP_SECONDS, self._tick, connection.loop)

    def end(self, connection: "BoundedProtocol") -> None:
        """Record that its request is complete, or that it was closed."""
        self.since.pop(connection, None)

    def make_room(self) -> bool:
        """Return whether the number of connections is permitted. If it is too high, the oldest waiting one is closed."""
        if self.connections <= self.limit:
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
        """Close the connections whose requests take too long to arrive, except those that the server itself delays."""
        late = [
            connection
            for connection, since in self.since.items()
            if now - since > connection.allowed_seconds and connection.transport.is_reading()
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


waiting = IncompleteRequests(_connection_limit())
draining = threading.Event()
"""Set when this process is about to stop: each connection is closed with its next answer."""


class BoundedProtocol(asyncio.Protocol):
    """Enforces :data:`MAX_HEAD_BYTES`, :data:`MAX_HEADERS` and deadlines before uvicorn's protocol gets the data.

    uvicorn makes one for each connection; the arguments are passed on. The application must be a :func:`tracked` one, which
    reports the progress of each answer. ``hosts`` are the permitted hosts; None permits every host. ``inner`` makes the
    protocol that serves.
    """

    transport: asyncio.Transport

    def __init__(
        self,
        *,
        app_state: dict[str, Any],
        hosts: HostRule | None = None,
        inner: Callable[..., asyncio.Protocol] = HttpToolsProtocol,
        **named: Any,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._inner = inner(app_state={**app_state, _CONNECTION: self}, **named)
        self._parser: Any = httptools.HttpRequestParser(self)
        # As in uvicorn: data after a request with "Connection: close" are another request, not an error.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._hosts = hosts
        self._head_left = MAX_HEAD_BYTES
        self._headers_complete = False
        self._bodiless = 0  # bytes since the last byte of a body: chunk sizes, their extensions, trailers
        self._url = b""
        self._host_headers: list[bytes] = []
        self._headers = self._header_bytes = 0
        self._refusal: tuple[int, str, str] | None = None
        self._requests = 0  # not answered yet
        self._header_counts: deque[int] = deque()  # of requests that the application has not begun
        self._answering = False

    @property
    def allowed_seconds(self) -> float:
        """Seconds in which the current part of the request must arrive."""
        return REQUEST_SECONDS if self._headers_complete else HEAD_SECONDS

    @property
    def under_way(self) -> bool:
        """Whether a request is not answered yet."""
        return self._requests > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # uvloop's transports are of no asyncio class
        self._inner.connection_made(transport)
        waiting.connections += 1
        waiting.start(self)
        if not waiting.make_room():
            self.refuse(503, "ServiceUnavailableException", "The server has as many connections as it can hold.")

    def connection_lost(self, exc: Exception | None) -> None:
        waiting.connections -= 1
        waiting.end(self)
        self._end_inner(exc)
        self._parser = None  # it refers to this protocol

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        # Always, not only at the start of a request: empty lines do not start one.
        if not self.under_way and self not in waiting.since:
            waiting.start(self)
        if self._is_within_bounds(data):
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def _is_within_bounds(self, data: bytes) -> bool:
        """Return whether ``data`` may be passed on; refuse them if not."""
        # In pieces that end at the limit of the head.
        rest = memoryview(data)
        while rest:
            piece = rest[: MAX_HEAD_BYTES if self._headers_complete else self._head_left]
            rest = rest[len(piece) :]
            self._bodiless += len(piece)
            if not self._headers_complete:
                self._head_left -= len(piece)
            try:
                self._parser.feed_data(piece)
            except httptools.HttpParserUpgrade:
                # uvicorn ignores the upgrade, serves the request, and drops the data after it.
                return True
            except httptools.HttpParserError:
                self._refuse_unread(*(self._refusal or _INVALID))
                return False
            if (not self._headers_complete and self._head_left <= 0) or self._bodiless > 2 * MAX_HEAD_BYTES:
                self._refuse_unread(*_TOO_LARGE)
                return False
        return True

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        self._headers_complete = False
        self._bodiless = self._headers = self._header_bytes = 0
        self._url = b""
        self._host_headers = []
        if self not in waiting.since:
            waiting.start(self)

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._headers_complete:
            # A trailer, which does not count as a header (RFC 9110 section 6.5.1).
            return
        self._headers += 1
        self._header_bytes += len(name) + len(value) + 4
        if self._headers > MAX_HEADERS:
            self._stop(431, "RequestHeadersTooLargeException", f"The request has more than {MAX_HEADERS} headers.")
        if name.lower() == b"host":
            self._host_headers.append(value)

    def on_headers_complete(self) -> None:
        # One piece can have several requests; the size of each one's head is known only after parsing.
        if self._header_bytes + len(self._url) > MAX_HEAD_BYTES:
            self._stop(*_TOO_LARGE)
        self._check_target()
        self._check_host()
        self._headers_complete = True
        self._head_left = MAX_HEAD_BYTES
        self._requests += 1
        self._header_counts.append(self._headers)

    def on_body(self, body: bytes) -> None:  # noqa: ARG002
        self._bodiless = 0

    def on_message_complete(self) -> None:
        waiting.end(self)
        # Next is the head of another request.
        self._headers_complete = False

    def _check_target(self) -> None:
        """Check what uvicorn requires of a target: a path, in ASCII."""
        try:
            path = httptools.parse_url(self._url).path
        except httptools.HttpParserInvalidURLError:
            path = None
        if path is None or not path.isascii():
            self._stop(*_INVALID)

    def _check_host(self) -> None:
        """Check RFC 9112 section 3.2: one Host header with a host; HTTP/1.0 may omit it."""
        hosts = self._host_headers
        if len(hosts) > 1:
            self._stop(400, "SerializationException", "The request has more than one Host header.")
        if not hosts and self._parser.get_http_version() != "1.0":
            self._stop(400, "SerializationException", "The request has no Host header.")
        # A target's own host takes precedence over the header (section 3.2.2): both must be permitted.
        absolute = None if self._url.startswith(b"/") else _ABSOLUTE.match(self._url)
        for value in (*hosts, *([absolute[1]] if absolute else [])):
            host = host_of(value)
            if host is None:
                self._stop(400, "SerializationException", "The request's host is not the name or address of one.")
            elif self._hosts is not None and not self._hosts.permits(host, self._address()):
                self._stop(
                    421,
                    "MisdirectedRequestException",
                    f"This server does not answer for the host '{host[:255]}'. To allow it, start it with --allowed-host.",
                )

    def _address(self) -> str | None:
        """The local address of the connection."""
        name = self.transport.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else None

    def _stop(self, status: int, code: str, message: str) -> NoReturn:
        """Stop the parser, from one of its callbacks, and answer."""
        self._refusal = (status, code, message)
        raise _Stopped

    # Callbacks of the application.

    def begins(self, scope: Scope) -> None:
        """The application begins a request. Remove trailers, which uvicorn adds to the headers."""
        scope["headers"] = scope["headers"][: self._header_counts.popleft()]

    def answer_begins(self) -> None:
        """The first bytes of an answer are about to be sent."""
        self._answering = True

    def answer_ends(self) -> None:
        """A request is answered."""
        self._answering = False
        self._requests -= 1

    def document(self, status: int, code: str, message: str) -> tuple[str, bytes]:
        """Return media type and body of a refusal."""
        return "application/json", orjson.dumps({"__type": code, "message": message, "error_code": status})

    def _refuse_unread(self, status: int, code: str, message: str) -> None:
        _log.warning("refused with %s what a client sent: %s", status, message)
        self.refuse(status, code, message)

    def refuse(self, status: int, code: str, message: str) -> None:
        """Answer, unless an answer is under way already, and close."""
        waiting.end(self)
        if not self._answering:
            content_type, body = self.document(status, code, message)
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
                f"x-amzn-errortype: {code}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        if self.under_way:
            # The handler of the request need not wait for the rest of it, nor answer.
            self._end_inner(None)
        self.transport.close()

    def _end_inner(self, exc: Exception | None) -> None:
        """Tell uvicorn once that the connection was closed."""
        inner, self._inner = self._inner, asyncio.Protocol()
        inner.connection_lost(exc)


def tracked(app: ASGIApp) -> ASGIApp:
    """Wrap ``app`` to tell the :class:`BoundedProtocol` of each request when its answer begins and ends."""

    async def tracking(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        connection: BoundedProtocol = scope["state"].pop(_CONNECTION)
        connection.begins(scope)
        ended = False

        async def telling(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                connection.answer_begins()
                if draining.is_set():
                    message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False) and not ended:
                ended = True
                connection.answer_ends()

        try:
            await app(scope, receive, telling)
        finally:
            if not ended:
                connection.answer_ends()

    return tracking


class SharingProtocol(BoundedProtocol):
    """The protocol of one of several workers: it leaves the next connection to another worker.

    A connection wakes all workers, and the first to run also accepts the next ones, so that it would get all connections
    that are opened together. libuv slept for the same reason, for the shortest possible time.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        time.sleep(_TURN_SECONDS)
        super().connection_made(transport)


class _Stopped(Exception):
    """Raised in a callback of the parser to stop it."""
