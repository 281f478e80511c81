"""Runs a server: a bounded HTTP protocol on one socket, with TLS and a rule for hosts."""

import functools
import math
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import FrameType
from typing import Any, NoReturn, Self

import uvicorn
import uvloop

from penstock.errors import EnvironmentProblem
from penstock.server.http.hosts import host_rule
from penstock.server.http.tls import server_context
from penstock.settings.addresses import check_plain
from penstock.settings.server import ServerSettings
from penstock.settings.tls import TlsFiles

__all__ = [
    "GRACE_SECONDS",
    "HANDSHAKE_SECONDS",
    "Listening",
    "ServerLoop",
    "check_listening",
    "listen",
    "serve_app",
    "url_of",
]

_BACKLOG = 2048
HANDSHAKE_SECONDS = 10.0
_GOODBYE_SECONDS = 2.0  # a pooled client does not answer close_notify; RFC 8446 section 6.1 requires no wait
# Longer than AWS's clients keep an idle connection (60 s in the Java SDK), so that the server never closes it during a
# request.
_IDLE_SECONDS = 75
_BEAT_SECONDS = 5
# Set if SIGTERM came before uvicorn installed its own handler: Python ignores an exit that a finalizer raises.
_leaving = threading.Event()
GRACE_SECONDS = 20  # a request that takes longer is cut off at shutdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What one server listens on: ``host`` is an address or name to bind; ``port`` 0 takes a free one.

    ``allowed_hosts`` are permitted in addition to those of :func:`penstock.server.http.hosts.host_rule`.
    ``insecure_plain_http`` allows listening without TLS on a network, where others can read the traffic.
    """

    host: str
    port: int
    tls: TlsFiles | None = None
    allowed_hosts: tuple[str, ...] = ()
    insecure_plain_http: bool = False

    @classmethod
    def of(cls, settings: ServerSettings) -> Self:
        """Return what a server with ``settings`` listens on."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})


def check_listening(listening: Listening) -> None:
    """Raise for settings that the server cannot listen with: invalid certificates or host names, a network without TLS.

    :class:`InvalidInput` for the settings, :class:`EnvironmentProblem` for the contents of files.
    """
    host_rule(listening.host, listening.allowed_hosts)
    if listening.tls is not None:
        server_context(listening.tls)
    check_plain(listening.host, tls=listening.tls is not None, insecure=listening.insecure_plain_http)


def listen(listening: Listening) -> socket.socket:
    """Return the listening socket; :class:`EnvironmentProblem` if its port cannot be used."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((listening.host, listening.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise EnvironmentProblem(
            f"Port {listening.port} of {listening.host} cannot be used: {error.strerror}.",
            remedy="Stop the program that listens there, or choose another port with --port (0 takes a free one).",
        ) from error
    return listener


def url_of(listener: socket.socket, listening: Listening) -> str:
    """Return the listener's URL."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if listening.tls is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def serve_app(
    make_app: Callable[[], Any],
    listener: socket.socket,
    listening: Listening,
    *,
    beat: Callable[[], None] | None = None,
    protocol: Callable[..., Any] | None = None,
    drain_seconds: float = 0.0,
) -> None:
    """Serve the ASGI application that ``make_app`` builds until SIGTERM or SIGINT.

    After SIGTERM it goes on for ``drain_seconds``, in which each connection is closed with its next answer; another signal
    ends that.

    ``beat`` is given if other processes serve on the socket too: the event loop calls it every few seconds. ``protocol``
    is a subclass of :class:`~penstock.server.http.protocol.BoundedProtocol` to use instead.
    """
    # Imported in the process that serves.
    from penstock.server.http.protocol import BoundedProtocol, SharingProtocol, draining, tracked  # noqa: PLC0415

    # uvicorn raises the signal that ended it once more when it is done; a requested stop is not a failure.
    signal.signal(signal.SIGTERM, leave)
    http: Any = functools.partial(
        protocol or (BoundedProtocol if beat is None else SharingProtocol),
        hosts=host_rule(listening.host, listening.allowed_hosts),
    )
    tls = listening.tls

    async def notify() -> None:
        if beat is not None:
            beat()

    def build() -> Any:
        app = tracked(make_app())
        if _leaving.is_set():
            sys.exit(0)
        return app

    config = uvicorn.Config(
        build,
        factory=True,
        loop=f"{ServerLoop.__module__}:{ServerLoop.__name__}",
        http=http,
        ssl_context_factory=None if tls is None else lambda _config, _default: server_context(tls),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        ws="none",
        server_header=False,
        lifespan="on",
        callback_notify=notify,
        timeout_notify=_BEAT_SECONDS,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _DrainingServer(config, drain_seconds, draining).run(sockets=[listener])


class _DrainingServer(uvicorn.Server):
    """Serves on for a while after SIGTERM, so that whoever distributes connections sees it before the port is closed."""

    def __init__(self, config: uvicorn.Config, seconds: float, draining: threading.Event) -> None:
        super().__init__(config)
        self._seconds = seconds
        self._draining = draining
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGTERM or self._draining.is_set():
            self._until = -math.inf
        self._draining.set()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if not await super().on_tick(counter):
            return False
        if self._until is None:
            self._until = time.monotonic() + self._seconds
        return time.monotonic() >= self._until


def leave(_signal: int, _frame: object) -> NoReturn:
    """Exit the process with status 0, as after a requested stop."""
    _leaving.set()
    sys.exit(0)


class ServerLoop(uvloop.Loop):
    """Sets the deadlines that uvicorn does not pass to the listeners that it starts."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        """Return a listener; with TLS, each handshake has :data:`HANDSHAKE_SECONDS`."""
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", HANDSHAKE_SECONDS)
            named.setdefault("ssl_shutdown_timeout", _GOODBYE_SECONDS)
        return await super().create_server(*arguments, **named)
