"""The server's processes: one, or a parent with workers that share its listening socket."""

import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.server.http.serving import GRACE_SECONDS, Listening, check_listening, leave, listen, serve_app, url_of
from penstock.server.workers import preload, run_workers
from penstock.settings.server import ServerSettings

__all__ = ["serve"]

_CLOSE_SECONDS = 10  # in which crawls and statements must stop after the requests have ended


def serve(settings: ServerSettings, *, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``announce`` is called with the URL when the socket listens and the store is ready.

    Raises :class:`EnvironmentProblem` if the port is taken or the store cannot be used, and the errors of
    :func:`penstock.server.http.serving.check_listening`.
    """
    signal.signal(signal.SIGTERM, leave)
    listening = Listening.of(settings)
    check_listening(listening)
    with listen(listening) as listener, contextlib.ExitStack() as stack:
        if settings.workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-metrics-", ignore_cleanup_errors=True))
            # Read by prometheus_client when a worker imports it: see penstock.server.observe.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            settings = replace(settings, metrics_folder=Path(folder))
            preload()
        # Imported after the port is bound, and while the workers' modules load: it imports every engine and store.
        from penstock.server.wiring import prepare  # noqa: PLC0415

        settings = replace(settings, url=url_of(listener, listening))
        prepare(settings)
        announce(url_of(listener, listening))
        if settings.workers == 1:
            _serve_here(settings, listener, None)
        else:
            run_workers(settings, listener, _serve_here, grace=settings.drain_seconds + GRACE_SECONDS + _CLOSE_SECONDS)


def _serve_here(settings: ServerSettings, listener: socket.socket, beat: Callable[[], None] | None) -> None:
    # Imported in the process that serves: prometheus_client chooses its mode when it is imported.
    from penstock.server.app import build_app  # noqa: PLC0415

    listening = Listening.of(settings)
    serve_app(lambda: build_app(settings), listener, listening, beat=beat, drain_seconds=settings.drain_seconds)
