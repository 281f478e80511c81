"""HTTP with bounds: how large a request's head is, how long a request may take to arrive, how many connections there are.

uvicorn's parser has none of them: a header without end fills the memory, and a connection that sends a byte now and then
holds its place for ever. What is refused here is refused before it is a request, so that the answer is one that both
interfaces' clients read: AWS's ``__type`` and ``message`` beside Confluent's ``error_code``.
"""

import asyncio
import resource
import time
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["MAX_HEADERS", "MAX_HEAD_BYTES", "BoundedProtocol", "SharingProtocol", "Waiting", "waiting"]

MAX_HEAD_BYTES = 64 * 1024  # the request line and all headers
MAX_HEADERS = 200
HEAD_SECONDS = 10.0
REQUEST_SECONDS = 60.0
_SWEEP_SECONDS = 1.0
_TURN_SECONDS = 0.000_05
_MOST_CONNECTIONS = 8_192
_SPARE_FILES = 256  # for the store, the compilers and the logs
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


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
    """uvicorn's protocol, with :data:`MAX_HEAD_BYTES`, :data:`MAX_HEADERS` and deadlines for what arrives."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_left = MAX_HEAD_BYTES
        self._headers_complete = False

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
        # In pieces, so that no more than that is parsed of a head without end.
        for start in range(0, len(data), MAX_HEAD_BYTES) if len(data) > MAX_HEAD_BYTES else (0,):
            piece = data[start : start + MAX_HEAD_BYTES] if len(data) > MAX_HEAD_BYTES else data
            if not self._headers_complete:
                self._head_left -= len(piece)
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if not self._headers_complete and self._head_left < 0:
                self.refuse(
                    431, "RequestHeadersTooLargeException", f"The request's head is larger than {MAX_HEAD_BYTES} bytes."
                )
                return

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._headers_complete = False
        if self not in waiting.since:
            waiting.start(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            raise _TooManyHeaders

    def on_headers_complete(self) -> None:
        self._headers_complete = True
        self._head_left = MAX_HEAD_BYTES
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        waiting.end(self)
        # What comes next is the head of another request.
        self._headers_complete = False

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP: uvicorn's word for it, or the bound that was broken."""
        if len(self.headers or ()) > MAX_HEADERS:
            self.refuse(431, "RequestHeadersTooLargeException", f"The request has more than {MAX_HEADERS} headers.")
        else:
            self.refuse(400, "SerializationException", msg)

    def refuse(self, status: int, code: str, message: str) -> None:
        """Answer, unless an answer is under way already, and close."""
        waiting.end(self)
        under_way = self.cycle is not None and not self.cycle.response_complete
        if not under_way or not self.cycle.response_started:
            body = orjson.dumps({"__type": code, "message": message, "error_code": status})
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
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


class _TooManyHeaders(Exception):
    """Raised in a callback of the parser, which stops there."""
