"""The processes that serve: one, or a parent with workers that share its listening socket."""

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import uvicorn

from penstock.errors import EnvironmentProblem
from penstock.server.wiring import prepare
from penstock.server.workers import run_workers
from penstock.settings.server import ServerSettings

__all__ = ["serve"]

_BACKLOG = 2048
_GRACE_SECONDS = 20  # a request that takes longer is cut off at shutdown
_CLOSE_SECONDS = 10  # for crawls and statements to stop after that


def serve(settings: ServerSettings, *, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``announce`` is told the URL once the socket listens and the store is ready.

    Raises :class:`EnvironmentProblem` where the port is taken or the store cannot be used.
    """
    listener = _listen(settings)
    with listener:
        prepare(settings)
        host, port = listener.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        if settings.workers == 1:
            announce(url)
            _serve_here(settings, listener)
            return
        with tempfile.TemporaryDirectory(prefix="penstock-metrics-", ignore_cleanup_errors=True) as folder:
            # Read by prometheus_client when a worker imports it: see penstock.server.observe.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            announce(url)
            run_workers(
                replace(settings, metrics_folder=Path(folder)), listener, _serve_here, grace=_GRACE_SECONDS + _CLOSE_SECONDS
            )


def _serve_here(settings: ServerSettings, listener: socket.socket) -> None:
    # Imported in the process that serves: prometheus_client picks its mode when it is imported.
    from penstock.server.app import build_app  # noqa: PLC0415

    # uvicorn raises the signal that ended it once more when it is done; a stop that was asked for is no failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    config = uvicorn.Config(
        lambda: build_app(settings),
        factory=True,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise EnvironmentProblem(
            f"Port {settings.port} of {settings.host} cannot be used: {error.strerror}.",
            remedy="Stop what listens there, or choose another one with --port (0 takes a free one).",
        ) from error
    return listener
