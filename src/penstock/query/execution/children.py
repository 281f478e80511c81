"""The child processes in which statements are parsed and run, so that any statement can be stopped.

A child serves one statement at a time under limits of memory and of CPU time, and is killed to stop the statement. It
is started when first needed, kept while it is usable, and runs statements of one account only. Parsing a statement's
text, which decides whether it is accepted, has separate children for all accounts, since the others may be busy for long.
"""

import json
import logging
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penstock.caching import SharedCache
from penstock.query.errors import CannotRun, TooManyRequests, memory_exceeded
from penstock.query.execution.remote import RAISED
from penstock.query.ports import StatementHost
from penstock.query.settings import OUT_OF_MEMORY
from penstock.query.task import Commit, Outcome, Task
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.statements.model import ResultColumn, StatementStatistics, StatementType

__all__ = ["Child", "ChildEnded", "ChildPool", "StatementKind"]

_log = logging.getLogger("penstock.query")

_MAX_MESSAGE = 64 << 20  # bytes; the columns of a result and their types are the largest message
_READ_MEMORY = 512 << 20
_READ_SECONDS = 3.0  # of CPU time; 50,000 words take 0.7 s
_READ_DEADLINE = 30.0  # of wall-clock time, on a busy machine
_READERS = 2
_MAX_WAITING = 8
_PATIENCE = 0.5  # seconds
_KNOWN = 1 << 20  # characters of texts whose kind is remembered: dashboards repeat theirs
_IDLE = 4  # as many as run at a time
_SEVERAL = 2
_LOWEST = 19  # nice(1)
_OVERHEAD = 512 << 20  # bytes beside the engine's own limit: the libraries, threads' stacks, the result's texts
_QUESTIONS = frozenset(
    {
        *("databases", "database", "tables", "visible_tables", "table", "partitions", "reading", "change"),
        "check_writing",
        "check_files",
        "hides_columns",
        "is_named",
        "visible_columns",
        "compute",
        "publish",
        "remove",
    }
)
# The server's environment variables that a child gets; others may have secrets.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


_Serves = tuple[str, Path | None, Path | None]  # an account, its lake, the parent folder of its statements' files


class ChildEnded(Exception):
    """The process ended before it answered."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"the process ended with status {status}")
        self.status = status

    def failure(self) -> StatementError:
        """Return the error for the caller of the statement, who did not end it."""
        if self.status == -signal.SIGPROF:
            return StatementError(
                "EXCEEDED_TIME_LIMIT",
                "The query took more CPU time than the limit of a query.",
                remedy="Read fewer partitions, or raise the server's limit.",
            )
        # Ended by its own memory check, by the system if memory is short, or by a library whose allocation failed.
        if self.status in {OUT_OF_MEMORY, -signal.SIGKILL, -signal.SIGABRT}:
            return memory_exceeded()
        if self.status is not None and self.status > 0:
            return StatementError(
                "GENERIC_INTERNAL_ERROR",
                "The process for the query cannot be started.",
                remedy="See the server's log; pip install 'penstock[server]' installs what the process needs.",
            )
        name = signal.Signals(-self.status).name if self.status is not None and self.status < 0 else self.status
        return StatementError(
            "GENERIC_INTERNAL_ERROR",
            f"The process that ran the query ended ({name}).",
            remedy="Run it again; if it ends again, write the query in another way.",
        )


@dataclass(frozen=True, slots=True)
class StatementKind:
    """What parsing tells about a statement's text."""

    type: StatementType
    substatement: str | None
    prepared: str | None = None
    """The name of the prepared statement that EXECUTE runs; then ``type`` is that one's, which is not known here."""
    parameters: Sequence[str] = ()
    """The values that EXECUTE gives it."""
    immediate: str | None = None
    """The text that EXECUTE IMMEDIATE runs."""


class Child:
    """One process. Any thread may call :meth:`kill`; only one thread at a time may call the other methods.

    A ``warm`` one loads the engine at once, and not with its first statement.
    """

    def __init__(self, open_to: "Mapping[str, Sequence[Path]] | None" = None, *, warm: bool = False) -> None:
        """``open_to`` are the folders that the process may ``read`` and ``write``, beside its own and the system's."""
        self._scratch = tempfile.mkdtemp(prefix="penstock-spill-")
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-X",
                    "utf8",
                    "-m",
                    "penstock.query.execution.child",
                    str(theirs.fileno()),
                    self._scratch,
                    json.dumps({name: [str(each) for each in paths] for name, paths in (open_to or {}).items()}),
                    *(["warm"] if warm else []),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Only why it could not start, or the last message of a library: for the server's log.
                stderr=None,
                env={**_environment(), "TMPDIR": self._scratch},
                # Its own process group, so that only the server handles a Ctrl-C at its terminal; but the server's session:
                # Linux shares processors among sessions first (autogroups, sched(7)), whatever their processes' priority.
                process_group=0,
            )
            self._channel: Connection[Any, Any] = Connection(ours.detach())
        self._doomed = False
        self._aside: int | None = None
        self.peak = 0
        """The most memory that it has used, as the system counts it (on Linux in KB), as of its last reply."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether the process can serve another statement."""
        return not self._doomed and self._process.poll() is None

    def cpu_seconds(self) -> float | None:
        """Return the processor time that the process has used, None where the system does not tell (``/proc``, proc(5))."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return None

    def step_aside(self) -> None:
        """Give the process's statement the lowest priority until it ends."""
        if self._aside is None:
            with suppress(OSError):
                self._aside = os.getpriority(os.PRIO_PROCESS, self.pid)
                self._set_priority(_LOWEST)

    def _come_back(self) -> None:
        """Give the process its priority back; where the system does not allow that, the process is not used again."""
        if self._aside is not None:
            try:
                self._set_priority(self._aside)
            except OSError:
                self._doomed = True
            self._aside = None

    def _set_priority(self, nice: int) -> None:
        # On Linux each thread has a priority of its own, sched(7).
        try:
            threads = [int(each.name) for each in Path(f"/proc/{self.pid}/task").iterdir()]
        except FileNotFoundError:
            threads = [self.pid]
        for thread in threads:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, nice)

    def kill(self) -> None:
        """End the process now, also during a statement."""
        self._doomed = True
        self._process.kill()

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self.kill()
        self._process.wait()
        self._channel.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def read(self, sql: str, parameters: Sequence[str]) -> StatementKind:
        """Parse ``sql``. Raises :class:`InvalidRequest` if it is refused, and :class:`ChildEnded`."""
        self._send(("read", sql, tuple(parameters), (_READ_MEMORY, _READ_MEMORY, _READ_SECONDS)))
        answer = self._receive(_READ_DEADLINE)
        if answer["kind"] == "refused":
            raise InvalidRequest(answer["message"], remedy=answer["remedy"], athena_code=answer["code"])
        if answer["kind"] != "read":
            raise _unexpected(answer)
        return StatementKind(
            StatementType(answer["type"]),
            answer["substatement"],
            answer["prepared"],
            tuple(answer["parameters"]),
            answer["immediate"],
        )

    def run(self, task: Task, host: StatementHost, on_planned: Callable[[StatementStatistics], None]) -> Outcome:
        """Run ``task`` with ``host``, whose own errors pass through.

        Raises :class:`StatementError` if the statement fails and :class:`ChildEnded`, also after :meth:`kill`.
        """
        settings = task.settings
        # The watch ends a statement by wall-clock time; this limit applies if the watch is gone.
        seconds = settings.timeout_seconds * max(1, settings.threads) + 60
        # The engine's allocator keeps address space that it does not use, up to as much as it uses.
        resident, allocated = settings.memory_bytes + _OVERHEAD, 2 * settings.memory_bytes + _OVERHEAD
        self._send(("run", task, (resident, allocated, seconds)))
        try:
            answer, failure = self._exchange(host, on_planned)
        except BaseException:
            # It waits for a reply, or its state is unknown: it is not used again.
            self.kill()
            raise
        finally:
            self._come_back()
        if answer["kind"] == "catalog" and failure is not None:
            raise failure
        if answer["kind"] != "done":
            raise _unexpected(answer)
        columns = [ResultColumn(**each) for each in answer["columns"]]
        statistics = StatementStatistics(**answer["statistics"])
        commit = Commit.from_json(answer["commit"]) if answer["commit"] is not None else None
        return Outcome(columns, statistics, answer["update_count"], answer["written"], commit)

    def _exchange(
        self, host: StatementHost, on_planned: Callable[[StatementStatistics], None]
    ) -> tuple[Mapping[str, Any], BaseException | None]:
        """Answer the child's calls until the task ends. Return the last message, and the catalog's error if it had one."""
        failure: BaseException | None = None
        while True:
            message = self._receive()
            if message["kind"] == "ask":
                failure = self._reply(host, message)
            elif message["kind"] == "planned":
                on_planned(StatementStatistics(**message["statistics"]))
            else:
                return message, failure

    def _reply(self, host: StatementHost, message: Mapping[str, Any]) -> BaseException | None:
        """Answer a call of the host. Return the error that it raised, if it is one that ends the statement."""
        if message["name"] not in _QUESTIONS:
            raise _unexpected(message)
        try:
            answer: tuple[str, Any] = ("value", getattr(host, message["name"])(*message["arguments"]))
        except tuple(RAISED.values()) as error:
            kind = next(kind for kind, each in RAISED.items() if isinstance(error, each))
            answer = (kind, (error.message, error.remedy))
        except Exception as error:  # noqa: BLE001 raised again when the process has ended its statement
            self._send(("failed", None))
            return error
        self._send(answer)
        return None

    def _send(self, message: tuple[Any, ...]) -> None:
        try:
            self._channel.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        except OSError:
            raise self._ended() from None

    def _receive(self, timeout: float | None = None) -> Mapping[str, Any]:
        try:
            if timeout is not None and not self._channel.poll(timeout):
                raise EOFError
            message: Mapping[str, Any] = json.loads(self._channel.recv_bytes(_MAX_MESSAGE))
        except (EOFError, OSError, ValueError):
            raise self._ended() from None
        self.peak = message.get("peak", self.peak)
        self._doomed = self._doomed or bool(message.get("worn"))
        return message

    def _ended(self) -> ChildEnded:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        status = self._process.poll()
        self.kill()
        return ChildEnded(status)


def _environment() -> dict[str, str]:
    known = {name: value for name in _KEPT if (value := os.environ.get(name)) is not None}
    # Arrow's own allocator reserves a gigabyte, which would count as used.
    return {**known, "ARROW_DEFAULT_MEMORY_POOL": "system"}


class ChildPool:
    """A pool of child processes. The caller bounds how many statements run; the pool bounds how many idle ones it keeps."""

    def __init__(self, *, idle: int = _IDLE, readers: int = _READERS, waiting: int = _MAX_WAITING) -> None:
        self._max_idle = idle
        self._places = threading.BoundedSemaphore(waiting)
        self._lock = threading.Lock()
        self._idle: list[tuple[_Serves, Child]] = []
        self._at_work = self._awaited = 0
        self._several = False
        self._readers: list[Child] = []
        self._reading = threading.BoundedSemaphore(readers)
        self._starter: ThreadPoolExecutor | None = None
        self._closed = False
        self._files: Path | None = None
        self._kinds: SharedCache[tuple[str, tuple[str, ...]], StatementKind] = SharedCache(_KNOWN)

    @contextmanager
    def acquire(self, account: str, lake: Path | None = None, files: Path | None = None) -> Iterator[Child]:
        """Lend a child for statements of ``account``; it is kept afterwards if it is still usable.

        It reads the folder ``lake`` and writes to ``files`` and below, and nothing else of the machine.
        """
        serves = (account, lake, files)
        child = self._take(serves)
        self._count(1, serves)
        try:
            yield child
        finally:
            self._give(serves, child)
            self._count(-1, serves)

    def read(self, sql: str, parameters: Sequence[str]) -> StatementKind:
        """Parse ``sql`` in a child. Raises :class:`InvalidRequest`, and :class:`TooManyRequests` if too many wait."""
        known = self._kinds.peek((sql, tuple(parameters)))
        if known is not None:
            return known
        # A burst of short texts is parsed within the patience; only long ones keep their places for longer.
        if not self._places.acquire(timeout=_PATIENCE):
            raise TooManyRequests("Too many statements are being parsed at the moment.", remedy="Try again in a moment.")
        try:
            with self._reading:
                kind = self._read(sql, parameters)
        finally:
            self._places.release()
        self._kinds.put((sql, tuple(parameters)), kind, weight=len(sql) + sum(map(len, parameters)))
        return kind

    def close(self) -> None:
        """End all idle children; a child at work ends when it is returned."""
        with self._lock:
            self._closed = True
            children = [*self._readers, *(child for _, child in self._idle)]
            self._readers, self._idle = [], []
            starter, self._starter = self._starter, None
            files, self._files = self._files, None
        for child in children:
            child.close()
        if starter is not None:
            starter.shutdown()
        if files is not None:
            shutil.rmtree(files, ignore_errors=True)

    def _read(self, sql: str, parameters: Sequence[str]) -> StatementKind:
        with self._lock:
            child = self._readers.pop() if self._readers else None
        if child is not None and not child.usable:
            child.close()
            child = None
        try:
            child = child or self._started()
        except StatementError as error:
            raise CannotRun(error.message, remedy=error.remedy) from error
        try:
            return child.read(sql, parameters)
        except ChildEnded as error:
            if error.status is not None and error.status > 0 and error.status != OUT_OF_MEMORY:
                failure = error.failure()
                raise CannotRun(failure.message, remedy=failure.remedy) from error
            if error.status == -signal.SIGPROF:
                what = f"The SQL takes longer than {_READ_SECONDS:g} seconds to parse."
            else:
                what = "The SQL is too large or nests too deeply to be parsed."
            raise InvalidRequest(
                what, remedy="Split it with WITH, or put long lists in a table.", athena_code="MALFORMED_QUERY"
            ) from error
        except StatementError as error:
            if error.code == "EXCEEDED_MEMORY_LIMIT":
                raise InvalidRequest("The SQL needs too much memory to be parsed.", remedy="Split it with WITH.") from error
            raise CannotRun(error.message, remedy=error.remedy) from error
        finally:
            with self._lock:
                keep = child.usable and not self._closed
                if keep:
                    self._readers.append(child)
            if not keep:
                child.close()

    def folder(self, account: str) -> Path:
        """Return the parent folder of the files of the account's statements."""
        with self._lock:
            if self._files is None:
                self._files = Path(tempfile.mkdtemp(prefix="penstock-sql-"))
            made = self._files / account
            made.mkdir(mode=0o700, exist_ok=True)
            return made

    def _take(self, serves: _Serves) -> Child:
        with self._lock:
            for number, (served, child) in enumerate(self._idle):
                if served == serves and child.usable:
                    del self._idle[number]
                    return child
        return self._started(_open_to(serves))

    def _count(self, taken: int, serves: _Serves) -> None:
        """Count the processes at work, and start what is missing once several were: the next statements may be long.

        Then short ones need processes of their own, and a start takes half a second of a processor.
        """
        with self._lock:
            self._at_work += taken
            self._several = self._several or self._at_work >= _SEVERAL
            missing = self._max_idle - len(self._idle) - self._at_work - self._awaited
            if self._closed or not self._several or missing <= 0:
                return
            self._awaited += missing
            for _ in range(missing):
                self._starting().submit(self._add_spare, serves)

    def _add_spare(self, serves: _Serves) -> None:
        """Start one in the starter's thread. A failure is one of the next statement, which tries again."""
        child = None
        with suppress(OSError):
            child = Child(_open_to(serves), warm=True)
        with self._lock:
            self._awaited -= 1
            if child is not None and not self._closed:
                self._idle.append((serves, child))
                return
        if child is not None:
            child.close()

    def _give(self, serves: _Serves, child: Child) -> None:
        surplus: list[Child] = []
        with self._lock:
            if child.usable and not self._closed:
                self._idle.append((serves, child))
                # The child that has been idle longest ends, of any account.
                while len(self._idle) > self._max_idle:
                    surplus.append(self._idle.pop(0)[1])
            else:
                surplus.append(child)
        for each in surplus:
            each.close()

    def _started(self, open_to: "Mapping[str, Sequence[Path]] | None" = None) -> Child:
        with self._lock:
            if self._closed:
                raise TooManyRequests("The server is shutting down.", remedy="Try again in a moment.")
            # Under the lock, because a closed pool must not use its starter.
            starting = self._starting().submit(Child, open_to)
        try:
            return starting.result()
        except OSError as error:
            raise StatementError(
                "GENERIC_INTERNAL_ERROR",
                f"The process for the query cannot be started: {error.strerror}.",
                remedy="Check the limits on processes, files and memory.",
            ) from error

    def _starting(self) -> ThreadPoolExecutor:
        """Return one thread that lives as long as the pool: Linux ends a child with the thread that started it."""
        if self._starter is None:
            self._starter = ThreadPoolExecutor(1, thread_name_prefix="penstock-sql-start")
        return self._starter


def _open_to(serves: _Serves) -> Mapping[str, Sequence[Path]]:
    _, lake, files = serves
    return {"read": [] if lake is None else [lake], "write": [] if files is None else [files]}


def _unexpected(answer: Mapping[str, Any]) -> StatementError:
    """Return a child's unexpected answer as an error."""
    if answer["kind"] == "failed":
        return StatementError(answer["code"], answer["message"], remedy=answer["remedy"])
    name = answer.get("name", answer["kind"])
    _log.error("running a statement failed: %s", answer.get("trace") or name)
    return StatementError("GENERIC_INTERNAL_ERROR", f"The engine failed: {name}.")
