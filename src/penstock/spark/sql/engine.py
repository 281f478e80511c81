"""The server's side of Spark SQL: one process for one account, started when a statement needs it, ended when it is idle."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from pathlib import Path

from penstock.children.frames import FrameTooLarge
from penstock.children.messages import MalformedMessage, MessageReader, encode
from penstock.children.process import ChildEnded, ChildProcess, base_environment
from penstock.interpreter import SAFE_PATH, python_module
from penstock.settings.spark_sql import SparkSqlSettings
from penstock.spark.sql.messages import ANSWERS, Answer, Cancel, Compute, Computed, Failed, Open, Request
from penstock.sql.spark_query import SparkQuery, SparkRows

__all__ = ["SparkSql"]

_log = logging.getLogger("penstock.spark.sql")

_POLL = 0.05  # seconds
_STOP_SECONDS = 10.0  # in which a stopped query has to end, before the process is killed


class _Process:
    """One process and the queries that it computes."""

    def __init__(self, settings: SparkSqlSettings, lake: Path, log: Path, module: str, files: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._child = ChildProcess(
                python_module(module),
                environment={**base_environment(), **SAFE_PATH, "JAVA_HOME": settings.java_home},
                bounds=ANSWERS,
                scratch="penstock-spark-sql-",
                homes=("HOME", "SPARK_LOCAL_DIRS"),
                output=output,
                errors=output,
            )
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {}
        self._count = 0
        self._ended = False
        self._send(Open(settings=settings, lake=lake, log=log, files=files))
        threading.Thread(target=self._receive, name="penstock-spark-sql", daemon=True).start()

    @property
    def usable(self) -> bool:
        return not self._ended

    def submit(self, query: SparkQuery, file: Path) -> "tuple[int, Future[Answer]] | None":
        """Start a query; None if the process has ended meanwhile."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._ended:
                return None
            self._count += 1
            number = self._count
            self._waiting[number] = future
        self._send(Compute(number=number, query=query, file=file))
        return number, future

    def cancel(self, number: int) -> None:
        self._send(Cancel(number=number))

    def kill(self) -> None:
        """End it now; its JVM ends with it. No other query comes to it."""
        with self._lock:
            self._ended = True
        # Its end ends the thread that receives, which closes the channel: closed here, its number could be another's.
        self._child.kill()
        self._child.wait()

    def _send(self, message: Open | Request) -> None:
        with suppress(OSError):  # the thread that receives notices the process's end
            self._child.channel.send(encode(message))

    def _receive(self) -> None:
        try:
            while True:
                self._pass_on(_READER.read(self._child.channel.receive()[0]))
        except (EOFError, OSError):
            pass
        except (FrameTooLarge, MalformedMessage) as error:
            _log.error("Spark's process is ended, which sent what is no message: %s", error)
            self._child.kill()
        with self._lock:
            self._ended = True
            waiting, self._waiting = list(self._waiting.values()), {}
        ended = self._child.ended(_STOP_SECONDS)
        self._child.close()
        for future in waiting:
            future.set_exception(ended)

    def _pass_on(self, answer: Answer) -> None:
        with self._lock:
            # Without its JVM the process ends: no other query may come to it meanwhile.
            self._ended = self._ended or (isinstance(answer, Failed) and answer.ending)
            future = self._waiting.pop(answer.number, None)
        if future is not None:
            future.set_result(answer)


_READER: MessageReader[Answer] = MessageReader(Answer)


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
        stop_seconds: float = _STOP_SECONDS,
    ) -> None:
        """``error`` makes the caller's exception of Athena's code and a message; ``module`` is what the process runs.

        A query that was stopped ends within ``stop_seconds``, or the process is killed.
        """
        self._module = module
        self._stop_seconds = stop_seconds
        self._settings = settings
        self._lake = lake
        self._log = Path(f"{settings.log}-{name}.log")
        self._error = error
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._closed = False

    def compute(self, query: SparkQuery, file: Path, stop: Callable[[], bool], /) -> SparkRows:
        """Compute ``query``, with its rows in ``file``.

        The process may write into the folders beside that of ``file``: those of the account's statements.

        Raises what ``error`` makes; if ``stop`` returns True, that of a query that was stopped.
        """
        retried = False
        while True:
            process, number, future = self._start(query, file)
            try:
                answer = self._wait(process, number, future, stop)
            except ChildEnded as error:
                if error.exit.status == 0 and not retried:
                    retried = True
                    continue  # it was idle, and ended as the query came
                why = f"Spark's process ended ({error.exit}). Its log is {self._log}."
                raise self._error("GENERIC_INTERNAL_ERROR", why) from error
            break
        if isinstance(answer, Computed):
            return answer.rows
        raise self._error(answer.code, answer.message)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _start(self, query: SparkQuery, file: Path) -> "tuple[_Process, int, Future[Answer]]":
        files = file.parent.parent
        while True:
            with self._lock:
                if self._closed:
                    raise self._error("SERVER_RESTARTED", "The server was stopped.")
                if self._process is None or not self._process.usable:
                    # It may have ended because it was idle.
                    self._process = _Process(self._settings, self._lake, self._log, self._module, files)
                process = self._process
            submitted = process.submit(query, file)
            if submitted is not None:
                return process, *submitted

    def _wait(self, process: _Process, number: int, future: "Future[Answer]", stop: Callable[[], bool]) -> Answer:
        deadline: float | None = None
        while True:
            try:
                return future.result(_POLL)
            except NotYet:
                if future.done():
                    raise
            if deadline is None and stop():
                process.cancel(number)
                deadline = time.monotonic() + self._stop_seconds
            elif deadline is not None and time.monotonic() > deadline:
                _log.warning("Spark did not stop a query within %g seconds, and is ended", self._stop_seconds)
                process.kill()
                raise self._error("GENERIC_INTERNAL_ERROR", "The query was stopped.")
