"""The processes that serve: one, or a parent with workers that share its listening socket."""

import contextlib
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import uvicorn

from penstock.errors import EnvironmentProblem
from penstock.server.workers import preload, run_workers
from penstock.settings.server import ServerSettings

__all__ = ["serve"]

_BACKLOG = 2048
# Longer than AWS's clients keep an idle connection (60 s in the Java SDK): they close it, not the server under a request.
_IDLE_SECONDS = 75
_GRACE_SECONDS = 20  # a request that takes longer is cut off at shutdown
_CLOSE_SECONDS = 10  # for crawls and statements to stop after that


def serve(settings: ServerSettings, *, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``announce`` is told the URL once the socket listens and the store is ready.

    Raises :class:`EnvironmentProblem` where the port is taken or the store cannot be used.
    """
    signal.signal(signal.SIGTERM, _leave)
    with _listen(settings) as listener, contextlib.ExitStack() as stack:
        if settings.workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-metrics-", ignore_cleanup_errors=True))
            # Read by prometheus_client when a worker imports it: see penstock.server.observe.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            settings = replace(settings, metrics_folder=Path(folder))
            preload()
        # Imported when the port is ours and while the workers' modules load: it brings every engine and store.
        from penstock.server.wiring import prepare  # noqa: PLC0415

        prepare(settings)
        host, port = listener.getsockname()[:2]
        announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        if settings.workers == 1:
            _serve_here(settings, listener)
        else:
            run_workers(settings, listener, _serve_here, grace=_GRACE_SECONDS + _CLOSE_SECONDS)


def _serve_here(settings: ServerSettings, listener: socket.socket) -> None:
    # Imported in the process that serves: prometheus_client picks its mode when it is imported.
    from penstock.server.app import build_app  # noqa: PLC0415
    from penstock.server.http import BoundedProtocol, SharingProtocol  # noqa: PLC0415

    # uvicorn raises the signal that ended it once more when it is done; a stop that was asked for is no failure.
    signal.signal(signal.SIGTERM, _leave)
    config = uvicorn.Config(
        lambda: build_app(settings),
        factory=True,
        http=BoundedProtocol if settings.workers == 1 else SharingProtocol,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        ws="none",
        server_header=False,
        lifespan="on",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _leave(_signal: int, _frame: object) -> NoReturn:
    sys.exit(0)


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
