"""The child process in which statements are parsed, planned and run.

``python -P -m penstock.query.execution.child DESCRIPTOR OPEN [warm]`` starts it; the descriptor is a socket to the owner,
``warm`` loads the engine before the first statement. It confines itself to its temporary folder (TMPDIR), which is for what
engines spill, and to what the document OPEN lets it ``read`` and ``write``: engines parse files that anybody may have
written. What it and its owner tell each other is in :mod:`penstock.query.execution.messages`. The process ends if it exceeds
a limit and cannot recover.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.children.frames import Channel
from penstock.children.messages import MessageReader, encode, printable
from penstock.children.process import OUT_OF_MEMORY
from penstock.children.serving import confine_to, end_with_owner, ignore_interrupts
from penstock.errors import PenstockError
from penstock.query.errors import StatementCancelled, memory_exceeded
from penstock.query.execution.messages import (
    FROM_OWNER,
    Answer,
    Defect,
    Done,
    Execute,
    Failed,
    HostFailed,
    Limits,
    Parse,
    ParsedText,
    Planned,
    Rejected,
)
from penstock.query.execution.remote import HostEnded, RemoteHost
from penstock.query.task import Task
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.parse import parse
from penstock.sql.statements.model import Execute as ExecutePrepared
from penstock.sql.statements.model import ExecuteImmediate
from penstock.statements.model import StatementStatistics

if TYPE_CHECKING:
    from penstock.query.engine.pool import EnginePool

__all__ = ["is_exhausted", "main"]

_MEMORY_CHECK = 0.02  # seconds; a process can fill some gigabytes of memory in a second
_MAX_TRACE = 4_000
# A process that holds more address space than this, and than half of what a statement may allocate, ends. A new one has
# 200 MB. What the allocators hold beyond that they use again: over TPC-H at scale 1 it grows to 850 MB and stays.
_MOST_HELD = 600 << 20
_NICE = 5  # the server that answers requests has priority


def main(arguments: list[str]) -> None:
    """Serve the owner until it closes the socket or ends."""
    os.umask(0o077)
    _go_first_when_memory_is_short()
    scratch, folders = Path(os.environ["TMPDIR"]), json.loads(arguments[1])
    read, write = (map(Path, folders.get(name, ())) for name in ("read", "write"))
    confine_to(os.environ, read=read, write=[scratch, *write], all_files=True)
    end_with_owner()
    ignore_interrupts()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    sys.meta_path.insert(0, _WithoutPandas())
    server = _Server(Channel.inherited(int(arguments[0]), FROM_OWNER), scratch)
    if arguments[2:] == ["warm"]:
        _load_engine()
    with suppress(EOFError, ConnectionError):
        while True:
            server.serve()


class _Server:
    """Answers the owner's requests one after another."""

    def __init__(self, channel: Channel, scratch: Path) -> None:
        self._channel = channel
        self._scratch = scratch
        self._memory = _Memory()
        self._engines: EnginePool | None = None

    def serve(self) -> None:
        """Answer the next request."""
        request = _READER.read(self._channel.receive()[0])
        limits = request.limits
        with self._memory.limited(limits):
            result = self._result(request)
        answer = Answer(result=result, peak=_peak(), exhausted=is_exhausted(_pages(5), limits.allocated))
        self._channel.send(encode(answer))
        if self._engines is not None:
            # A failure here is one of the next statement, which tries again.
            with suppress(Exception):
                self._engines.prepare()

    def _result(self, request: Parse | Execute) -> ParsedText | Rejected | Done | Failed | Defect | HostFailed:
        try:
            return _parse(request) if isinstance(request, Parse) else self._run(request.task)
        except MemoryError:
            return _failed(memory_exceeded())
        except StatementError as error:
            return _failed(error)
        except (EOFError, ConnectionError):
            raise
        except HostEnded:
            return HostFailed()
        except PenstockError as error:
            return Failed(code="GENERIC_INTERNAL_ERROR", message=printable(error.message), remedy=error.remedy)
        except Exception as error:  # noqa: BLE001 the owner gets any error, with its traceback for the log
            trace = "".join(traceback.format_exception(error))[-_MAX_TRACE:]
            return Defect(name=type(error).__name__, trace=printable(trace))

    def _run(self, task: Task) -> Done:
        # Parsing alone does not need the engine.
        from penstock.query.engine.pool import EnginePool  # noqa: PLC0415 - see above
        from penstock.query.execution.runner import execute  # noqa: PLC0415 - see above

        if self._engines is None:
            self._engines = EnginePool(self._scratch)

        def on_planned(statistics: StatementStatistics) -> None:
            self._channel.send(encode(Planned(statistics=statistics)))

        try:
            return Done(outcome=execute(task, RemoteHost(self._channel), self._engines, on_planned))
        except StatementCancelled as error:
            # Nothing interrupts the engine here: the owner kills this process to end a statement.
            raise StatementError("GENERIC_INTERNAL_ERROR", error.message) from error


def _parse(request: Parse) -> ParsedText | Rejected:
    try:
        parsed = parse(request.sql, request.parameters)
    except InvalidRequest as error:
        return Rejected(message=printable(error.message), remedy=error.remedy, code=error.athena_code)
    execute = parsed if isinstance(parsed, ExecutePrepared | ExecuteImmediate) else None
    return ParsedText(
        type=parsed.type,
        substatement=parsed.substatement,
        prepared=parsed.name if isinstance(parsed, ExecutePrepared) else None,
        immediate=parsed.sql if isinstance(parsed, ExecuteImmediate) else None,
        parameters=list(execute.parameters) if execute else [],
    )


def _load_engine() -> None:
    """Import what the first statement will need, also what libraries would import with it."""
    for name in ("penstock.query.execution.runner", "penstock.query.results.values", "sqlglot.dialects.duckdb"):
        import_module(name)


class _WithoutPandas(MetaPathFinder):
    """Hides pandas, where it is installed, from Arrow: it imports it for its first scalar, in 0.3 s and 40 MB."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("a statement's process has no use for pandas", name=fullname)


def _failed(error: StatementError) -> Failed:
    message = error.message.removeprefix(f"{error.code}: ")
    return Failed(code=error.code, message=printable(message), remedy=error.remedy)


_READER: MessageReader[Parse | Execute] = MessageReader(Parse | Execute, most=None)


def is_exhausted(used: int, allocated: int) -> bool:
    """Return whether a process that holds ``used`` bytes has too little for a statement that may allocate ``allocated``."""
    return used > max(_MOST_HELD, allocated // 2)


class _Memory:
    """Bounds on what the process uses while it serves a request.

    The system bounds the allocated data (RLIMIT_DATA), and refuses one huge allocation at once. A thread bounds the resident
    memory, since allocators ask for more than they use. The thread needs Linux's ``/proc``; without it only the first
    bound applies.
    """

    def __init__(self) -> None:
        self._limit = 0
        self._serving = threading.Event()
        if _pages(1):
            threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def limited(self, limits: Limits) -> Iterator[None]:
        """Apply ``limits``; the processor time is that of all threads together."""
        allocated = limits.allocated
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(
            resource.RLIMIT_DATA, (allocated if hard == resource.RLIM_INFINITY else min(allocated, hard), hard)
        )
        self._limit = limits.resident
        self._serving.set()
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self._serving.clear()
            # The report of the failure needs some memory, too.
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))

    def _watch(self) -> None:
        while self._serving.wait():
            if _pages(1) > self._limit:
                os._exit(OUT_OF_MEMORY)
            time.sleep(_MEMORY_CHECK)


def _peak() -> int:
    """Return the most memory that the process has used, in KB on Linux.

    The system's own count of a process begins with what its parent had when it started it, so ``/proc`` is asked first.
    """
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _pages(field: int) -> int:
    """Return a field of Linux's statm in bytes (1: resident, 5: allocated data), 0 without ``/proc``."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[field]) * resource.getpagesize()
    except OSError:
        return 0


def _go_first_when_memory_is_short() -> None:
    with suppress(OSError):
        os.nice(_NICE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
