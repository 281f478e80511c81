"""The owner's side of one statement process, and of its start."""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.children.frames import FrameTooLarge
from penstock.children.messages import MalformedMessage, MessageReader, encode
from penstock.children.process import ChildEnded, ChildProcess, Exit, base_environment
from penstock.query.errors import TooManyRequests, memory_exceeded
from penstock.query.execution.messages import (
    FROM_CHILD,
    QUESTIONS,
    RAISED,
    Answer,
    Ask,
    Defect,
    Done,
    Execute,
    Failed,
    HostFailed,
    Limits,
    Parse,
    ParsedText,
    Planned,
    Raised,
    Rejected,
    Value,
)
from penstock.query.ports import StatementHost
from penstock.query.task import Outcome, Task
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.statements.model import StatementStatistics

__all__ = ["Folders", "ProcessStarter", "StatementProcess", "failure_of"]

_log = logging.getLogger("penstock.query")

_MODULE = "penstock.query.execution.child"
_LOWEST_PRIORITY = 19  # nice(1)
_OVERHEAD = 512 << 20  # bytes beside the engine's own limit: the libraries, threads' stacks, the result's texts

Folders = Mapping[str, Sequence[Path]]
"""What a process may ``read`` and ``write``, beside its own temporary folder and the system's files."""


def failure_of(exit_: Exit) -> StatementError:
    """Return the error of a statement whose process ended, and was not ended by its owner."""
    if exit_.out_of_time:
        return StatementError(
            "EXCEEDED_TIME_LIMIT",
            "The query took more CPU time than the limit of a query.",
            remedy="Read fewer partitions, or raise the server's limit.",
        )
    if exit_.out_of_memory:
        return memory_exceeded()
    if exit_.failed_by_itself:
        return StatementError(
            "GENERIC_INTERNAL_ERROR",
            "The process for the query cannot be started.",
            remedy="See the server's log; pip install 'penstock[server]' installs what the process needs.",
        )
    return StatementError(
        "GENERIC_INTERNAL_ERROR",
        f"The process that ran the query ended ({exit_}).",
        remedy="Run it again; if it ends again, write the query in another way.",
    )


class StatementProcess:
    """One process. Any thread may call :meth:`kill`; only one thread at a time may call the other methods.

    A ``warm`` one loads the engine at once, and not with its first statement.
    """

    def __init__(self, folders: Folders | None = None, *, warm: bool = False) -> None:
        """Start it. Raises :class:`OSError`."""
        document = json.dumps({name: [str(path) for path in paths] for name, paths in (folders or {}).items()})
        self._child = ChildProcess(
            [sys.executable, "-P", "-X", "utf8", "-m", _MODULE],
            document,
            *(["warm"] if warm else []),
            # Arrow's own allocator reserves a gigabyte, which would count as used.
            environment={**base_environment(), "ARROW_DEFAULT_MEMORY_POOL": "system"},
            bounds=FROM_CHILD,
            # Linux shares processors among sessions first (autogroups, sched(7)), whatever their processes' priority.
            own_session=False,
            scratch="penstock-spill-",
        )
        self._retired = False
        self._priority: int | None = None
        self.peak = 0
        """The most memory that it has used, as the system counts it (on Linux in KB), as of its last answer."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._child.pid

    @property
    def usable(self) -> bool:
        """Whether the process can serve another statement."""
        return not self._retired and self._child.running

    def cpu_seconds(self) -> float | None:
        """Return the processor time that the process has used, None where the system does not tell (``/proc``, proc(5))."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return None

    def lower_priority(self) -> None:
        """Give the process's statement the lowest priority until it ends."""
        if self._priority is None:
            with suppress(OSError):
                self._priority = os.getpriority(os.PRIO_PROCESS, self.pid)
                self._set_priority(_LOWEST_PRIORITY)

    def _restore_priority(self) -> None:
        """Give the process its priority back; where the system does not allow that, the process is not used again."""
        if self._priority is not None:
            try:
                self._set_priority(self._priority)
            except OSError:
                self._retired = True
            self._priority = None

    def _set_priority(self, nice: int) -> None:
        # On Linux each thread has a priority of its own, sched(7).
        try:
            threads = [int(task.name) for task in Path(f"/proc/{self.pid}/task").iterdir()]
        except FileNotFoundError:
            threads = [self.pid]
        for thread in threads:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, nice)

    def kill(self) -> None:
        """End the process now, also during a statement."""
        self._retired = True
        self._child.kill()

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self._retired = True
        self._child.close()

    def parse(self, sql: str, parameters: Sequence[str], limits: Limits, *, timeout: float) -> ParsedText:
        """Parse ``sql`` within ``timeout`` seconds.

        Raises :class:`InvalidRequest` if it is refused, :class:`StatementError` and :class:`ChildEnded`.
        """
        self._send(Parse(sql=sql, parameters=tuple(parameters), limits=limits))
        answer = self._receive(timeout)
        if isinstance(answer, Answer):
            if isinstance(answer.result, ParsedText):
                return answer.result
            if isinstance(answer.result, Rejected):
                rejected = answer.result
                raise InvalidRequest(rejected.message, remedy=rejected.remedy, athena_code=rejected.code)
        raise _unexpected(answer)

    def run(self, task: Task, host: StatementHost, on_planned: Callable[[StatementStatistics], None]) -> Outcome:
        """Run ``task`` with ``host``, whose own errors pass through.

        Raises :class:`StatementError` if the statement fails and :class:`ChildEnded`, also after :meth:`kill`.
        """
        settings = task.settings
        limits = Limits(
            resident=settings.memory_bytes + _OVERHEAD,
            # The engine's allocator keeps address space that it does not use, up to as much as it uses.
            allocated=2 * settings.memory_bytes + _OVERHEAD,
            # The watch ends a statement by wall-clock time; this limit applies if the watch is gone.
            seconds=settings.timeout_seconds * max(1, settings.threads) + 60,
        )
        self._send(Execute(task=task, limits=limits))
        try:
            answer, failure = self._exchange(host, on_planned)
        except BaseException:
            # It waits for a reply, or its state is unknown: it is not used again.
            self.kill()
            raise
        finally:
            self._restore_priority()
        if isinstance(answer.result, HostFailed) and failure is not None:
            raise failure
        if not isinstance(answer.result, Done):
            raise _unexpected(answer)
        return answer.result.outcome

    def _exchange(
        self, host: StatementHost, on_planned: Callable[[StatementStatistics], None]
    ) -> tuple[Answer, BaseException | None]:
        """Answer the process's questions until the task ends. Return its answer, and the host's error if it had one."""
        failure: BaseException | None = None
        while True:
            message = self._receive()
            if isinstance(message, Ask):
                failure = self._reply(host, message)
            elif isinstance(message, Planned):
                on_planned(message.statistics)
            else:
                return message, failure

    def _reply(self, host: StatementHost, ask: Ask) -> BaseException | None:
        """Call the host. Return the error that it raised, if it is one that ends the statement."""
        question = QUESTIONS.get(ask.name)
        if question is None:
            raise _unexpected(ask)
        try:
            arguments = question.arguments.read(ask.arguments)
        except MalformedMessage as error:
            raise self._unreadable(error) from None
        body = b""
        reply: Value | Raised | HostFailed = Value()
        failure: BaseException | None = None
        try:
            body = encode(getattr(host, ask.name)(*arguments))
        except tuple(RAISED.values()) as error:
            name = next(name for name, type_ in RAISED.items() if isinstance(error, type_))
            reply = Raised(error=name, message=error.message, remedy=error.remedy)
        except Exception as error:  # noqa: BLE001 raised again when the process has ended its statement
            reply, failure = HostFailed(), error
        self._send(reply, body)
        return failure

    def _send(self, message: Parse | Execute | Value | Raised | HostFailed, body: bytes = b"") -> None:
        try:
            self._child.channel.send(encode(message), body)
        except OSError:
            raise self._ended() from None

    def _receive(self, timeout: float | None = None) -> Ask | Planned | Answer:
        try:
            message = _READER.read(self._child.channel.receive(timeout)[0])
        except (EOFError, OSError):
            raise self._ended() from None
        except (FrameTooLarge, MalformedMessage) as error:
            raise self._unreadable(error) from None
        if isinstance(message, Answer):
            self.peak = message.peak
            self._retired = self._retired or message.exhausted
        return message

    def _ended(self) -> ChildEnded:
        self._retired = True
        return self._child.ended()

    def _unreadable(self, error: ValueError) -> StatementError:
        self.kill()
        _log.error("process %d of a statement sent a malformed message and is ended: %s", self.pid, error)
        return StatementError("GENERIC_INTERNAL_ERROR", "The process of the query sent what cannot be read.")


_READER: MessageReader[Ask | Planned | Answer] = MessageReader(Ask | Planned | Answer)


def _unexpected(message: Ask | Planned | Answer) -> StatementError:
    result: Any = message.result if isinstance(message, Answer) else message
    if isinstance(result, Failed):
        return StatementError(result.code, result.message, remedy=result.remedy)
    name = result.name if isinstance(result, Defect | Ask) else type(result).__name__
    _log.error("running a statement failed: %s", result.trace if isinstance(result, Defect) else name)
    return StatementError("GENERIC_INTERNAL_ERROR", f"The engine failed: {name}.")


class ProcessStarter:
    """One thread that starts processes, and lives as long as they do: Linux ends a child with the thread that started it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._closed = False

    def start(self, folders: Folders | None = None) -> StatementProcess:
        """Start a process. Raises :class:`StatementError` if that fails, :class:`TooManyRequests` after :meth:`close`."""
        with self._lock:
            if self._closed:
                raise TooManyRequests("The server is shutting down.", remedy="Try again in a moment.")
            starting = self._executor().submit(StatementProcess, folders)
        try:
            return starting.result()
        except OSError as error:
            raise StatementError(
                "GENERIC_INTERNAL_ERROR",
                f"The process for the query cannot be started: {error.strerror}.",
                remedy="Check the limits on processes, files and memory.",
            ) from error

    def start_later(self, folders: Folders, started: Callable[[StatementProcess | None], None]) -> None:
        """Start a warm process and pass it on, None if that failed. Nothing happens after :meth:`close`."""
        with self._lock:
            if not self._closed:
                self._executor().submit(self._start_warm, folders, started)

    def close(self) -> None:
        """Wait for what is being started, and start nothing more."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()

    @staticmethod
    def _start_warm(folders: Folders, started: Callable[[StatementProcess | None], None]) -> None:
        process = None
        with suppress(OSError):
            process = StatementProcess(folders, warm=True)
        started(process)

    def _executor(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-sql-start")
        return self._thread
