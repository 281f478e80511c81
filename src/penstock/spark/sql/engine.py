"""The server's side of Spark SQL: one process for one account, started when a statement needs it, ended when it is idle."""

import json
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penstock.interpreter import SAFE_PATH, python_module
from penstock.settings.spark_sql import SparkSqlSettings

__all__ = ["SparkSql"]

_log = logging.getLogger("penstock.spark.sql")

_MAX_MESSAGE = 64 << 20
_POLL = 0.05  # seconds
_PATIENCE = 10.0  # seconds in which a stopped query has to end, before the process is killed
# The server's environment variables that the process gets; others may have secrets.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


class _Ended(Exception):
    """The process ended before it answered."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"Spark's process ended with status {status}")
        self.was_idle = status == 0


class _Process:
    """One process and the queries that it computes."""

    def __init__(self, settings: SparkSqlSettings, lake: Path, log: Path, module: str, files: Path) -> None:
        ours, theirs = socket.socketpair()
        self._scratch = tempfile.mkdtemp(prefix="penstock-spark-sql-")
        environment = {name: value for name in _KEPT if (value := os.environ.get(name)) is not None}
        environment |= dict.fromkeys(("HOME", "TMPDIR", "SPARK_LOCAL_DIRS"), self._scratch)
        log.parent.mkdir(parents=True, exist_ok=True)
        with ours, theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                python_module(module, str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**environment, **SAFE_PATH, "JAVA_HOME": settings.java_home},
                start_new_session=True,
            )
            self._channel: Connection[Any, Any] = Connection(ours.detach())
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Mapping[str, Any]]] = {}
        self._count = 0
        self._ended = False
        self._send({**asdict(settings), "lake": str(lake), "log": str(log), "files": str(files)})
        threading.Thread(target=self._receive, name="penstock-spark-sql", daemon=True).start()

    @property
    def usable(self) -> bool:
        return not self._ended

    def submit(self, request: Mapping[str, Any]) -> "tuple[int, Future[Mapping[str, Any]]] | None":
        """Start a query; None if the process has ended meanwhile."""
        future: Future[Mapping[str, Any]] = Future()
        with self._lock:
            if self._ended:
                return None
            self._count += 1
            number = self._count
            self._waiting[number] = future
        with suppress(OSError):
            self._send({**request, "kind": "run", "number": number})
        return number, future

    def cancel(self, number: int) -> None:
        with suppress(OSError):
            self._send({"kind": "cancel", "number": number})

    def kill(self) -> None:
        """End it now; its JVM ends with it. No other query comes to it."""
        with self._lock:
            self._ended = True
        # Its end ends the thread that receives, which closes the channel: closed here, its number could be another's.
        self._process.kill()
        self._process.wait()

    def _send(self, message: Mapping[str, Any]) -> None:
        self._channel.send_bytes(json.dumps(message).encode())

    def _receive(self) -> None:
        with suppress(EOFError, OSError, ValueError):
            while True:
                answer = json.loads(self._channel.recv_bytes(_MAX_MESSAGE))
                with self._lock:
                    # Without its JVM the process ends: no other query may come to it meanwhile.
                    self._ended = self._ended or bool(answer.get("ending"))
                    future = self._waiting.pop(int(answer["number"]), None)
                if future is not None:
                    future.set_result(answer)
        with self._lock:
            self._ended = True
            waiting, self._waiting = list(self._waiting.values()), {}
        self._channel.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        status: int | None = None
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_PATIENCE)
        for each in waiting:
            each.set_exception(_Ended(status))


class SparkSql:
    """Spark SQL over one account's lake. Any thread may call it."""

    def __init__(
        self,
        settings: SparkSqlSettings,
        lake: Path,
        *,
        name: str,
        error: Callable[[str, str], Exception],
        module: str = "penstock.spark.sql.confined",
        patience: float = _PATIENCE,
    ) -> None:
        """``error`` makes the caller's exception of Athena's code and a message; ``module`` is what the process runs.

        A query that was stopped ends within ``patience`` seconds, or the process is killed.
        """
        self._module = module
        self._patience = patience
        self._settings = settings
        self._lake = lake
        self._log = Path(f"{settings.log}-{name}.log")
        self._error = error
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._closed = False

    def compute(self, request: Mapping[str, Any], file: Path, stop: Callable[[], bool], /) -> Mapping[str, Any]:
        """Compute the query of ``request``, with its rows in ``file``; see :mod:`penstock.spark.sql.process`.

        The process may write into the folders beside that of ``file``: those of the account's statements.

        Raises what ``error`` makes; if ``stop`` returns True, that of a query that was stopped.
        """
        retried = False
        while True:
            process, number, future = self._start({**request, "file": str(file)}, file.parent.parent)
            try:
                answer = self._wait(process, number, future, stop)
            except _Ended as error:
                if error.was_idle and not retried:
                    retried = True
                    continue  # it ended as the query came
                why = f"Spark's process ended. Its log is {self._log}."
                raise self._error("GENERIC_INTERNAL_ERROR", why) from error
            break
        if answer.get("kind") == "failed":
            raise self._error(str(answer["code"]), str(answer["message"]))
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _start(self, request: Mapping[str, Any], files: Path) -> "tuple[_Process, int, Future[Mapping[str, Any]]]":
        while True:
            with self._lock:
                if self._closed:
                    raise self._error("SERVER_RESTARTED", "The server was stopped.")
                if self._process is None or not self._process.usable:
                    # It may have ended because it was idle.
                    self._process = _Process(self._settings, self._lake, self._log, self._module, files)
                process = self._process
            submitted = process.submit(request)
            if submitted is not None:
                return process, *submitted

    def _wait(
        self, process: _Process, number: int, future: "Future[Mapping[str, Any]]", stop: Callable[[], bool]
    ) -> Mapping[str, Any]:
        deadline: float | None = None
        while True:
            try:
                return future.result(_POLL)
            except NotYet:
                if future.done():
                    raise
            if deadline is None and stop():
                process.cancel(number)
                deadline = time.monotonic() + self._patience
            elif deadline is not None and time.monotonic() > deadline:
                _log.warning("Spark did not stop a query within %g seconds, and is ended", self._patience)
                process.kill()
                raise self._error("GENERIC_INTERNAL_ERROR", "The query was stopped.")
