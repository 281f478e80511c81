"""The processes that serve: one, or a parent with workers that share its listening socket."""

import functools
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from penstock.errors import EnvironmentProblem
from penstock.server.wiring import prepare
from penstock.settings.server import ServerSettings

__all__ = ["serve"]

_BACKLOG = 2048
_GRACE_SECONDS = 20  # a request that takes longer is cut off at shutdown
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


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
            server = uvicorn.Server(_config(functools.partial(_app, settings), workers=1))
            announce(url)
            server.run(sockets=[listener])
            return
        folder = Path(tempfile.mkdtemp(prefix="penstock-metrics-"))
        os.environ[_METRICS_VARIABLE] = str(folder)
        try:
            shared = replace(settings, metrics_folder=folder)
            supervisor = Multiprocess(_config(functools.partial(_app, shared), workers=settings.workers), sockets=[listener])
            announce(url)
            supervisor.run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _app(settings: ServerSettings) -> ASGIApp:
    # Imported in the process that serves: prometheus_client picks its mode when it is imported.
    from penstock.server.app import build_app  # noqa: PLC0415

    return build_app(settings)


def _config(factory: Callable[[], ASGIApp], *, workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        factory,
        factory=True,
        workers=workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


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
    listener.set_inheritable(True)
    return listener
