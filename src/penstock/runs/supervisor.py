"""The supervisor of one run: a separate process, so that the run goes on while the server is restarted.

``python -m penstock.runs.supervisor FOLDER`` runs what ``run.json`` of the folder says, writes its output as events, ends it
when it takes too long or the server asks for it, and records how it ended before it ends itself. It holds the folder's lock
meanwhile: a second one for the same folder does nothing. When it is killed, the kernel kills the run's process, too.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.durable import PRIVATE_UMASK
from penstock.interpreter import python_module
from penstock.locks import file_lock
from penstock.runs.causes import failure_cause
from penstock.runs.folders import RunFolder
from penstock.runs.logs import STREAMS, LogWriter
from penstock.runs.plans import RUN_TOKEN
from penstock.runs.strays import kill_children, kill_strays, reap
from penstock.sandbox.privileges import adopt_orphans

__all__ = ["main"]

_TICK = 0.25  # seconds between two looks at the server's request and the clock
_AGAIN = 1.0  # seconds until a run that is to end is asked again: a script's stream ends at the first request, others do not
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_KEPT_LINES = 4_000  # the stacks of Java have hundreds of lines
_KEPT_BYTES = 4_000  # of a line
_CHUNK = 1 << 16


def main(arguments: Sequence[str]) -> int:
    """Supervise the run in the folder; return 0."""
    folder = RunFolder(Path(arguments[0]))
    lock = file_lock(folder.lock)
    try:
        lock.acquire()
    except TimeoutError:
        return 0
    if folder.ended() is None:
        folder.end(_Supervisor(folder).run())
    lock.release()
    return 0


class _Supervisor:
    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._plan = folder.plan()
        self._reason: str | None = None
        self._requested: list[float] = []
        self._tail: deque[bytes] = deque(maxlen=_KEPT_LINES)
        self._rest = b""
        self._begun = datetime.now(UTC)
        self._since = time.monotonic()  # a clock that is set ends no run
        signal.signal(signal.SIGTERM, lambda *_: self._request_end("signal"))
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        self._folder.begin({"pid": os.getpid(), "begun": self._begun.isoformat()})
        error: str | None = None
        status = 1
        try:
            status = self._process()
        except OSError as problem:
            error = f"The run's process does not start: {problem}."
        return {
            "status": status,
            "reason": self._reason,
            "error": error or (self._cause(status) if status else None),
            "begun": self._begun.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
        }

    def _process(self) -> int:
        adopt_orphans()
        logs = {name: LogWriter(self._folder.root / name) for name in STREAMS}
        child = subprocess.Popen(
            python_module("penstock.runs.inputs", str(self._folder.root)),
            cwd=RunFolder(self._folder.root, _scratch(self._plan)).work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=PRIVATE_UMASK,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
        assert child.stdout is not None
        assert child.stderr is not None
        with selectors.DefaultSelector() as selector:
            for name, pipe in zip(STREAMS, (child.stdout, child.stderr), strict=True):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, name)
            while child.poll() is None:
                self._copy(selector, logs, _TICK)
                self._check(child.pid)
                reap(child.pid)
            _signal_group(child.pid, signal.SIGKILL)
            self._kill_strays()
            # What it wrote last may still be in the pipes.
            while selector.get_map() and self._copy(selector, logs, 0):
                pass
        for log in logs.values():
            log.close()
        return child.returncode if child.returncode >= 0 else 128 - child.returncode

    def _kill_strays(self) -> None:
        """Kill what the run's process started in sessions of their own."""
        account, _, rest = os.environ.get(RUN_TOKEN, "").partition(".")
        run_id = rest.partition(".")[0]
        if run_id:
            kill_strays(account, run_id)
        kill_children()

    def _copy(self, selector: selectors.BaseSelector, logs: Mapping[str, LogWriter], seconds: float) -> bool:
        """Copy what can be read; return whether anything could."""
        ready = selector.select(seconds)
        for key, _ in ready:
            data = os.read(key.fd, _CHUNK)
            if not data:
                selector.unregister(key.fileobj)
                continue
            logs[key.data].write(data)
            if key.data == "error":
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._rest = self._rest[-_CHUNK:]
                self._tail.extend(line[:_KEPT_BYTES] for line in lines)
        return bool(ready)

    def _check(self, group: int) -> None:
        """Ask the process to end, again after a moment, and kill it after the grace."""
        limit = self._plan["seconds"]
        if limit is not None and time.monotonic() - self._since > limit:
            self._request_end("timeout")
        if self._folder.stop_requested:
            self._request_end("stop")
        if self._reason is None:
            return
        now = time.monotonic()
        if not self._requested or (len(self._requested) < self._plan["requests"] and now - self._requested[-1] > _AGAIN):
            self._requested.append(now)
            _signal_group(group, signal.SIGTERM)
        elif now - self._requested[0] > self._plan["grace"]:
            _signal_group(group, signal.SIGKILL)

    def _request_end(self, reason: str) -> None:
        self._reason = self._reason or reason

    def _cause(self, status: int) -> str:
        """Return what standard error and the status say of why the run failed."""
        lines = [data.decode(errors="replace") for data in (*self._tail, self._rest)]
        return failure_cause(lines, status, self._plan.get("script"))


def _scratch(plan: Mapping[str, Any]) -> Path | None:
    return Path(plan["scratch"]) if plan.get("scratch") else None


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
