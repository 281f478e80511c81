"""Spark's JVM as a child process: whether it died, how, and how to forget it so that another one can start."""

import contextlib
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem

__all__ = ["Jvm", "JvmDied", "JvmExit", "forget_session", "lost_jvm"]

_PATIENCE = 5.0  # seconds: a killed process closes its sockets a moment before it can be waited for
_VMSTAT = Path("/proc/vmstat")

_STATUSES = {
    # -XX:+ExitOnOutOfMemoryError, which our sessions set, and Spark's own code for the same (SparkExitCode.OOM).
    3: "its heap is used up (OutOfMemoryError)",
    52: "its heap is used up (OutOfMemoryError)",
    # The shell that starts it could not.
    127: "its program was not found",
}


class JvmDied(EnvironmentProblem):
    """Spark's JVM ended by itself or was killed, and is not started again."""


@dataclass(frozen=True, slots=True)
class JvmExit:
    """How a JVM ended. ``status`` is its exit code, or the negative number of the signal that killed it.

    ``killed_for_memory``: the kernel's out-of-memory killer killed a process while this JVM ran.
    """

    process: int
    status: int
    killed_for_memory: bool = False

    @property
    def cause(self) -> str:
        """Return what happened, as the rest of a sentence about the JVM."""
        if self.status < 0:
            try:
                name = f"signal {-self.status} ({signal.Signals(-self.status).name})"
            except ValueError:
                name = f"signal {-self.status}"
            memory = ", when the kernel killed a process because the machine's memory ran out"
            return f"was killed by {name}{memory if self.killed_for_memory and self.status == -signal.SIGKILL else ''}"
        meaning = _STATUSES.get(self.status)
        return f"ended with exit code {self.status}{f': {meaning}' if meaning else ''}"

    @property
    def remedy(self) -> str | None:
        """Return what a user can do about the cause; None if only the log can tell."""
        if self.status in {3, 52}:
            return "Raise --driver-memory, or make the batches smaller (maxOffsetsPerTrigger)."
        if self.status == -signal.SIGKILL:
            return "If nobody killed it, give the machine or container more memory, or lower --driver-memory."
        return None


class Jvm:
    """The JVM of the current session, if this process started it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._kills = _kills_for_memory()

    @classmethod
    def current(cls) -> "Jvm | None":
        """Return the JVM of this process's session; None if there is none, or if another program started it."""
        process = getattr(SparkContext._gateway, "proc", None)
        return None if process is None else cls(process)

    @property
    def process(self) -> int:
        """Process id."""
        return self._process.pid

    def exit(self, *, patience: float = 0.0) -> JvmExit | None:
        """Return how it ended; None if it still runs after ``patience`` seconds."""
        try:
            status = self._process.wait(patience) if patience else self._process.poll()
        except subprocess.TimeoutExpired:
            return None
        if status is None:
            return None
        return JvmExit(self.process, status, _kills_for_memory() > self._kills)

    def exit_behind(self, error: BaseException) -> JvmExit | None:
        """Return the JVM's exit if ``error`` comes from it: a lost connection is given a moment to become an exit."""
        return self.exit(patience=_PATIENCE if _is_lost_connection(error) else 0.0)


def _is_lost_connection(error: BaseException) -> bool:
    """Return whether a call of the JVM failed because nobody answered; PySpark's own errors wrap some of them."""
    # An error can be its own cause: "raise error from error".
    waiting, visited = [error], set[int]()
    while waiting:
        error = waiting.pop()
        if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
            return True
        visited.add(id(error))
        waiting += [
            cause for cause in (error.__cause__, error.__context__) if cause is not None and id(cause) not in visited
        ]
    return False


def lost_jvm(error: BaseException) -> bool:
    """Return whether ``error`` is because this process's JVM died, so that no retry in it can help."""
    jvm = Jvm.current()
    return jvm is not None and jvm.exit_behind(error) is not None


def _kills_for_memory() -> int:
    """Return how many processes the kernel's out-of-memory killer has killed on this machine since it started."""
    try:
        match = re.search(r"^oom_kill (\d+)$", _VMSTAT.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(match[1]) if match else 0


def forget_session(session: SparkSession | None) -> None:
    """Drop what PySpark keeps of a session whose JVM is dead, so that the next one starts a new JVM.

    None is one that did not come about.
    """
    if session is not None:
        _stop_context(session)
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        with contextlib.suppress(Exception):
            gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    # As SparkSession.stop does after it has called the JVM.
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    sql = sys.modules.get("pyspark.sql.context")
    if sql is not None:
        sql.SQLContext._instantiatedContext = None


def _stop_context(session: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context: Any = session._sc
        # It stops the accumulators' server; every call to the JVM fails.
        with contextlib.suppress(Exception):
            context.stop()
        context._jsc = None
