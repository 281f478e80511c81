"""The owner's side of a child process: its start with a socket, its end, and what ended it."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from penstock.children.frames import Bounds, Channel

__all__ = ["OUT_OF_MEMORY", "ChildEnded", "ChildProcess", "Exit", "base_environment"]

OUT_OF_MEMORY = 77
"""Exit status of a child that exceeded its limit of memory, by its own count."""
# The owner's environment variables that a child gets; others may have secrets.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


def base_environment() -> dict[str, str]:
    """Return what every child gets of this process's environment variables."""
    return {name: value for name in _PASSED_ON if (value := os.environ.get(name)) is not None}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its exit status, or the negative number of the signal; None if it did not end in time."""

    status: int | None

    @property
    def out_of_memory(self) -> bool:
        """Whether its own check ended it, the system where memory is short, or a library whose allocation failed."""
        return self.status in {OUT_OF_MEMORY, -signal.SIGKILL, -signal.SIGABRT}

    @property
    def out_of_time(self) -> bool:
        """Whether it used more processor time than it may (setitimer(2), ITIMER_PROF)."""
        return self.status == -signal.SIGPROF

    @property
    def failed_by_itself(self) -> bool:
        """Whether it ended with a status of failure that is none of the above: it did not start, or met a defect."""
        return self.status is not None and self.status > 0 and not self.out_of_memory

    def __str__(self) -> str:
        if self.status is None:
            return "no answer"
        if self.status >= 0:
            return "out of memory" if self.status == OUT_OF_MEMORY else f"exit status {self.status}"
        try:
            return f"signal {signal.Signals(-self.status).name}"
        except ValueError:
            return f"signal {-self.status}"


class ChildEnded(Exception):
    """The process ended before it answered."""

    def __init__(self, exit_: Exit) -> None:
        super().__init__(f"the process ended: {exit_}")
        self.exit = exit_


class ChildProcess:
    """One process, and the socket to it. Any thread may call :meth:`kill`."""

    def __init__(
        self,
        command: Sequence[str],
        *arguments: str,
        environment: Mapping[str, str],
        bounds: Bounds,
        own_session: bool = True,
        scratch: str | None = None,
        homes: Sequence[str] = (),
        output: IO[Any] | int = subprocess.DEVNULL,
        errors: IO[Any] | int | None = None,
        folder: Path | None = None,
        umask: int = -1,
    ) -> None:
        """Run ``command``, with the descriptor of its socket and ``arguments`` behind it. Raises :class:`OSError`.

        ``bounds`` are those of what it sends. A process of its ``own_session`` gets no signal of this one's terminal; one
        that leads a process group of this session neither, and Linux weighs its priority against this session's others.
        ``scratch`` begins the name of a temporary folder that goes with the process: its TMPDIR, and what else of its
        environment variables ``homes`` names. ``folder`` is where it works,
        ``output`` and ``errors`` (None: this process's own) where its streams go.
        """
        self.scratch = Path(tempfile.mkdtemp(prefix=scratch)) if scratch is not None else None
        own = dict.fromkeys(("TMPDIR", *homes), str(self.scratch)) if self.scratch is not None else {}
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    [*command, str(theirs.fileno()), *arguments],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    cwd=folder,
                    env={**environment, **own},
                    umask=umask,
                    start_new_session=own_session,
                    process_group=None if own_session else 0,
                )
        except BaseException:
            ours.close()
            self._remove_scratch()
            raise
        self.connection = ours
        self.channel = Channel(ours, bounds)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def errors(self) -> IO[bytes] | None:
        """The process's standard error, where that is a pipe."""
        return self._process.stderr

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._reaped(0.0) is None

    def kill(self) -> None:
        """End the process now, and what it has started. It returns before they are gone."""
        if self.running:
            self._kill_group()

    def wait(self, seconds: float | None = None) -> Exit:
        """Return how the process ended; :class:`Exit` of None if it still runs after ``seconds``."""
        return Exit(self._reaped(seconds))

    def _reaped(self, seconds: float | None) -> int | None:
        """Return the status of the process once it has ended, after which nothing is left of its group either."""
        if self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
                # At once: later the number may be another process's.
                self._kill_group()
        return self._process.returncode

    def _kill_group(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                self._process.kill()

    def ended(self, seconds: float = 1.0) -> ChildEnded:
        """Return how the process ended that closed its socket, and kill it if it did not within ``seconds``."""
        exit_ = self.wait(seconds)
        self.kill()
        return ChildEnded(exit_)

    def close(self) -> None:
        """End the process, wait until it is gone, and remove its temporary folder."""
        self.kill()
        self.wait()
        self.channel.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._remove_scratch()

    def abandon(self) -> None:
        """Let go of the process in a fork of its owner: it is the owner's."""
        self.channel.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._process.returncode = 0

    def _remove_scratch(self) -> None:
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
