"""One long-running child process on a leash, with a bounded log, that never outlives its owner."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem
from penstock.local.processes import leash
from penstock.retries import wait_until

__all__ = ["LAST_LINES", "Child", "Service", "StandaloneService", "tail"]

LAST_LINES = " Its last lines:"
"""The end of the first line of an error that shows the last lines of a log."""

_LOG_LIMIT = 10_000_000  # bytes, twice: the log and its predecessor
_LEASH_MARGIN = 10  # seconds after the grace until the leash itself is killed


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The definition by which one part of the platform runs.

    ``command`` (called at each start) and ``environment`` (added to the owner's) start it, after ``prepare``; ``is_ready``
    checks the running process, and raises :class:`EnvironmentProblem` if waiting is pointless; ``is_alive`` checks whether
    it answers at all within the given seconds, as long as it runs; ``after`` names the services that must be ready first.
    ``start_timeout`` and ``stop_grace`` are in seconds.
    """

    name: str
    title: str
    command: Callable[[], Sequence[str]]
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None
    is_alive: Callable[[float], bool] = lambda _seconds: True
    after: tuple[str, ...] = ()
    start_timeout: float = 60
    stop_grace: float = 15


def tail(path: Path, lines: int = 15, *, width: int = 300) -> str:
    """Return the last ``lines`` of a log, each cut to ``width`` characters; empty if there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - lines * width * 2))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(line[:width] for line in text.splitlines()[-lines:])


class Child:
    """A process of a :class:`Service`: ``start``, ``wait_ready``, ``stop``."""

    def __init__(self, service: Service, log: Path) -> None:
        self.service = service
        self.log = log
        self.started_at: float | None = None
        self._leash: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the process (its leash) is alive."""
        return self._leash is not None and self._leash.poll() is None

    @property
    def exit_status(self) -> int | None:
        """The process's exit status (128 + signal if one ended it), None while it runs or before its start."""
        return None if self._leash is None else self._leash.poll()

    @property
    def leash_pid(self) -> int | None:
        """Process id of the leash, None before the start."""
        return None if self._leash is None else self._leash.pid

    def start(self) -> None:
        """Start the process, after ending the rest of a former one. It is not ready yet."""
        self.stop()
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.service.prepare()
        command = [sys.executable, "-I", leash.__file__, str(os.getpid()), str(self.log), str(_LOG_LIMIT)]
        command += [str(self.service.stop_grace), "--", *self.service.command()]
        self.started_at = time.monotonic()
        self._leash = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **self.service.environment},
            start_new_session=True,
            # Files of the process and its children are readable by the owner only.
            umask=PRIVATE_UMASK,
        )

    def wait_ready(self, *, abandoned: Callable[[], bool] = lambda: False) -> float:
        """Wait until the service answers. Return the seconds since its start.

        Raises :class:`EnvironmentProblem` with the log's last lines if it ends instead, or takes too long. ``abandoned``
        ends the wait early, as if it were ready.
        """
        assert self.started_at is not None

        def ready() -> bool:
            if abandoned():
                return True
            if not self.running:
                raise self.problem(f"ended with status {self.exit_status} before it was ready")
            return self.service.is_ready()

        if not wait_until(ready, seconds=self.started_at + self.service.start_timeout - time.monotonic()):
            raise self.problem(f"was not ready after {self.service.start_timeout:.0f} s")
        return time.monotonic() - self.started_at

    def stop(self, *, wait: bool = True) -> None:
        """Stop the process: SIGTERM, after the grace SIGKILL. Without ``wait`` only signal; call again to wait."""
        process = self._leash
        if process is None:
            return
        if process.stdin is not None and not process.stdin.closed:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if wait:
            try:
                process.wait(self.service.stop_grace + _LEASH_MARGIN)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, None if the process has not ended by itself after ``seconds``."""
        assert self._leash is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._leash.wait(seconds)
        return self.exit_status

    def signal(self, number: int) -> None:
        """Send a signal to the process itself, not to its group. Does nothing if it has ended."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL to the process and its group at once, as in a crash. Return when they have ended."""
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if self._leash is not None:
            try:
                self._leash.wait(_LEASH_MARGIN)
            except subprocess.TimeoutExpired:
                self._leash.kill()
                self._leash.wait()

    def _processes(self) -> list[psutil.Process]:
        """Return the process below the leash, which leads its group; empty once it has ended."""
        if self._leash is None or self._leash.poll() is not None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self._leash.pid).children()
        return []

    def problem(self, what: str) -> EnvironmentProblem:
        """Return an error that says what happened to the service, with the end of its log."""
        last = tail(self.log)
        shown = f"{LAST_LINES}\n{last}\n" if last else " It wrote no log."
        return EnvironmentProblem(f"The {self.service.title} {what}.{shown}", remedy=f"The whole log is {self.log}.")


@dataclass(slots=True, kw_only=True)
class StandaloneService(ABC):
    """A :class:`Service` that also runs without a supervisor: a context manager, started on entry and stopped on exit."""

    _child: Child | None = field(default=None, init=False, repr=False)

    @abstractmethod
    def service(self) -> Service:
        """Return its definition."""

    @property
    @abstractmethod
    def log(self) -> Path:
        """Its log if it runs without a supervisor."""

    def start(self) -> float:
        """Start and wait until a client is served. Return the seconds that took."""
        began = time.monotonic()
        self._child = Child(self.service(), self.log)
        self._child.start()
        try:
            self._child.wait_ready()
        except BaseException:
            self.stop()
            raise
        return time.monotonic() - began

    def stop(self) -> None:
        """Stop the process and wait for its end. Does nothing if it does not run."""
        if self._child is not None:
            self._child.stop()
            self._child = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
