"""Worker processes over one listening socket: starts them, replaces those that die or hang, and stops them together.

A fork server, which has imported the application once, starts them, so that a new worker is ready at once. Each worker has
one end of a pipe to its parent; when the parent ends, even killed, the pipe closes and the worker ends. The event loop of
each worker writes to a second pipe every few seconds; the parent replaces a worker that does not.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess

from penstock.errors import EnvironmentProblem
from penstock.interpreter import guard_children
from penstock.settings.server import ServerSettings

__all__ = ["preload", "run_workers"]

_log = logging.getLogger("penstock.server")

_YOUNG_SECONDS = 10.0  # a worker that ends sooner would end again
_MAX_YOUNG_DEATHS = 5
_PAUSE_SECONDS = 0.5

_SILENT_SECONDS = 60.0  # without a sign of life from the event loop; busy is not dead
_FIRST_SILENT_SECONDS = 180.0  # from the start, until the store is open and the application built

Serve = Callable[[ServerSettings, socket.socket, Callable[[], None]], None]


@dataclass(slots=True, kw_only=True)
class _Worker:
    process: ForkServerProcess
    leash: Connection
    beats: Connection
    started: float
    silent_at: float
    """When it counts as hung, unless it writes before."""

    def hear(self) -> None:
        """Read what it wrote, and extend its deadline."""
        with contextlib.suppress(OSError):
            if self.beats.poll() and os.read(self.beats.fileno(), 4096):
                self.silent_at = time.monotonic() + _SILENT_SECONDS

    def close(self) -> None:
        self.leash.close()
        self.beats.close()


def preload() -> None:
    """Let the fork server import the application in the background, with the current environment."""
    guard_children()  # the fork server is a "python -c"
    # The fork server inherits this: of a signal to the whole group, only the parent may act.
    with _signal_blocked(signal.SIGINT):
        forkserver.set_forkserver_preload(["penstock.server.app"])
        forkserver.ensure_running()


def run_workers(settings: ServerSettings, listener: socket.socket, serve_one: Serve, *, grace: float) -> None:
    """Run ``settings.workers`` processes that each call ``serve_one``, until SIGTERM or SIGINT.

    Workers have ``grace`` seconds to end. Raises :class:`EnvironmentProblem` if workers keep ending.
    """
    context = multiprocessing.get_context("forkserver")
    wake_reader, wake_writer = os.pipe()
    stopping = threading.Event()

    def stop(_signal: int, _frame: object) -> None:
        stopping.set()
        os.write(wake_writer, b"x")

    workers: list[_Worker] = []
    try:
        workers = [_start(context, settings, listener, serve_one) for _ in range(settings.workers)]
        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            _watch(workers, wake_reader, stopping, lambda: _start(context, settings, listener, serve_one))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    finally:
        _end(workers, grace)
        os.close(wake_reader)
        os.close(wake_writer)


def _watch(workers: list[_Worker], wake: int, stopping: threading.Event, start: Callable[[], _Worker]) -> None:
    young_deaths = 0
    while not stopping.is_set():
        wait(
            [wake, *(worker.process.sentinel for worker in workers), *(worker.beats for worker in workers)], _SILENT_SECONDS
        )
        if stopping.is_set():
            return
        for place, worker in enumerate(workers):
            worker.hear()
            if worker.process.is_alive():
                if time.monotonic() < worker.silent_at:
                    continue
                _log.error("worker %s does not answer: ending it", worker.process.pid)
                worker.process.kill()
                worker.process.join()
            young_deaths = young_deaths + 1 if time.monotonic() - worker.started < _YOUNG_SECONDS else 0
            if young_deaths >= _MAX_YOUNG_DEATHS:
                raise EnvironmentProblem(
                    f"Worker processes keep ending as soon as they start (exit status {worker.process.exitcode}).",
                    remedy="See the log above, or run 'penstock serve --workers 1'.",
                )
            _log.error("worker %s ended with status %s: starting another", worker.process.pid, worker.process.exitcode)
            worker.close()
            stopping.wait(_PAUSE_SECONDS * young_deaths)
            workers[place] = start()


def _start(context: ForkServerContext, settings: ServerSettings, listener: socket.socket, serve_one: Serve) -> _Worker:
    theirs, ours = context.Pipe(duplex=False)
    heard, written = context.Pipe(duplex=False)
    arguments = (settings, listener, serve_one, theirs, written)
    process = context.Process(target=_work, args=arguments, name="penstock-worker")
    process.start()
    theirs.close()
    written.close()
    now = time.monotonic()
    return _Worker(process=process, leash=ours, beats=heard, started=now, silent_at=now + _FIRST_SILENT_SECONDS)


def _work(settings: ServerSettings, listener: socket.socket, serve_one: Serve, leash: Connection, beats: Connection) -> None:
    threading.Thread(target=_end_with_parent, args=(leash,), daemon=True).start()
    os.set_blocking(beats.fileno(), False)

    def beat() -> None:
        # A parent that does not read must not block its workers.
        with contextlib.suppress(OSError):
            os.write(beats.fileno(), b".")

    serve_one(settings, listener, beat)


def _end_with_parent(leash: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        leash.recv_bytes()
    os.kill(os.getpid(), signal.SIGTERM)


def _end(workers: list[_Worker], grace: float) -> None:
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + grace
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.close()


@contextlib.contextmanager
def _signal_blocked(number: signal.Signals) -> Iterator[None]:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
