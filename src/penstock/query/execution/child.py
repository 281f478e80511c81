"""The child process in which statements are parsed, planned and run.

``python -P -m penstock.query.execution.child DESCRIPTOR FOLDER OPEN [warm]`` starts it; the descriptor is a socket to the
owner, the folder is for what engines spill, ``warm`` loads the engine before the first statement. It confines itself to
that folder, and to what the document OPEN lets it ``read`` and ``write``: engines parse files that anybody may have written.
The owner sends pickles, which this process trusts: ``("read", sql, parameters, limits)``, ``("run", task, limits)`` and
the replies to ``ask``. The limits are bytes of resident memory, bytes of allocated data (RLIMIT_DATA), and seconds of CPU
time. This process sends JSON, which the owner checks: while it runs a task, ``ask`` with the name of a method of
:class:`penstock.query.ports.StatementHost` and its arguments, and ``planned``; at the end one of ``read``, ``done``,
``refused``, ``failed`` and ``defect``. The process ends if it exceeds a limit and cannot recover.
"""

import ctypes
import json
import os
import pickle
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.query.errors import StatementCancelled, memory_exceeded
from penstock.query.execution.remote import HostFailed, RemoteHost
from penstock.query.settings import OUT_OF_MEMORY
from penstock.query.task import Task
from penstock.sandbox.confinement import Confinement, confine, is_possible
from penstock.sandbox.surroundings import needed
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.parse import parse
from penstock.sql.statements.model import Execute, ExecuteImmediate
from penstock.statements.model import StatementStatistics

__all__ = ["is_worn", "main"]

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_OWNER_CHECK = 0.5  # seconds
_MEMORY_CHECK = 0.02  # seconds; a process can fill some gigabytes of memory in a second
_MAX_TRACE = 4_000
# A process that holds more address space than this, and than half of what a statement may allocate, ends. A new one has
# 200 MB. What the allocators hold beyond that they use again: over TPC-H at scale 1 it grows to 850 MB and stays.
_WORN = 600 << 20
_NICE = 5  # the server that answers requests has priority


def main(arguments: list[str]) -> None:
    """Serve the owner until it closes the socket or ends."""
    os.umask(0o077)
    _go_first_when_memory_is_short()
    _confine(Path(arguments[1]), json.loads(arguments[2]))
    _stay_with_owner()
    # The owner decides when a statement ends, so it alone handles Ctrl-C at its terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    sys.meta_path.insert(0, _WithoutPandas())
    channel: Connection[Any, Any] = Connection(int(arguments[0]))
    os.set_inheritable(channel.fileno(), False)
    scratch = Path(arguments[1])
    memory = _Memory()
    if arguments[3:] == ["warm"]:
        _load_engine()
    with suppress(EOFError, ConnectionError):
        while True:
            what, *arguments, limits = pickle.loads(channel.recv_bytes())  # noqa: S301 the owner is trusted
            with memory.limited(*limits):
                answer = _answer(what, arguments, channel)
            _send(channel, {**answer, "peak": _peak(), "worn": is_worn(_pages(5), limits[1])})
            if what == "run":
                _prepare_for_the_next(scratch)


def _confine(scratch: Path, open_to: Mapping[str, Sequence[str]]) -> None:
    read, write = (tuple(map(Path, open_to.get(name, ()))) for name in ("read", "write"))
    if is_possible():
        confine(Confinement(read=needed(os.environ, *read), write=(scratch, *write), all_files=True))


def _answer(what: str, arguments: Sequence[Any], channel: "Connection[Any, Any]") -> Mapping[str, Any]:
    try:
        return _read(*arguments) if what == "read" else _run(arguments[0], channel)
    except MemoryError:
        return _failed(memory_exceeded())
    except StatementError as error:
        return _failed(error)
    except (EOFError, ConnectionError):
        raise
    except HostFailed:
        return {"kind": "catalog"}
    except PenstockError as error:
        return {"kind": "failed", "code": "GENERIC_INTERNAL_ERROR", "message": error.message, "remedy": error.remedy}
    except Exception as error:  # noqa: BLE001 the owner gets any error, with its traceback for the log
        trace = "".join(traceback.format_exception(error))[-_MAX_TRACE:]
        return {"kind": "defect", "name": type(error).__name__, "trace": trace}


def _read(sql: str, parameters: Sequence[str]) -> Mapping[str, Any]:
    try:
        parsed = parse(sql, parameters)
    except InvalidRequest as error:
        return {"kind": "refused", "message": error.message, "remedy": error.remedy, "code": error.athena_code}
    execute = parsed if isinstance(parsed, Execute | ExecuteImmediate) else None
    return {
        "kind": "read",
        "type": parsed.type.value,
        "substatement": parsed.substatement,
        "prepared": parsed.name if isinstance(parsed, Execute) else None,
        "immediate": parsed.sql if isinstance(parsed, ExecuteImmediate) else None,
        "parameters": list(execute.parameters) if execute else [],
    }


def _run(task: Task, channel: "Connection[Any, Any]") -> Mapping[str, Any]:
    from penstock.query.execution.runner import execute  # noqa: PLC0415 - parsing alone does not need the engine

    def on_planned(statistics: StatementStatistics) -> None:
        _send(channel, {"kind": "planned", "statistics": asdict(statistics)})

    try:
        outcome = execute(task, RemoteHost(partial(_send, channel), channel.recv_bytes), on_planned)
    except StatementCancelled as error:
        # Nothing interrupts the engine here: the owner kills this process to end a statement.
        raise StatementError("GENERIC_INTERNAL_ERROR", error.message) from error
    columns = [asdict(each) for each in outcome.columns]
    return {
        "kind": "done",
        "columns": columns,
        "statistics": asdict(outcome.statistics),
        "update_count": outcome.update_count,
        "written": list(outcome.written),
        "commit": asdict(outcome.commit) if outcome.commit is not None else None,
    }


def _load_engine() -> None:
    """Import what the first statement will need, also what libraries would import with it."""
    for name in ("penstock.query.execution.runner", "penstock.query.results.values", "sqlglot.dialects.duckdb"):
        import_module(name)


def _prepare_for_the_next(scratch: Path) -> None:
    from penstock.query.engine.spares import spares  # noqa: PLC0415 - as in _run

    # A failure here is one of the next statement, which tries again.
    with suppress(Exception):
        spares.scratch = scratch
        spares.prepare()


class _WithoutPandas(MetaPathFinder):
    """Hides pandas, where it is installed, from Arrow: it imports it for its first scalar, in 0.3 s and 40 MB."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("a statement's process has no use for pandas", name=fullname)


def _failed(error: StatementError) -> Mapping[str, Any]:
    message = error.message.removeprefix(f"{error.code}: ")
    return {"kind": "failed", "code": error.code, "message": message, "remedy": error.remedy}


def _send(channel: "Connection[Any, Any]", message: Mapping[str, Any]) -> None:
    channel.send_bytes(json.dumps(message).encode())


def is_worn(held: int, allocated: int) -> bool:
    """Return whether a process that holds ``held`` bytes has too little for a statement that may allocate ``allocated``."""
    return held > max(_WORN, allocated // 2)


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
    def limited(self, resident: int, allocated: int, seconds: float) -> Iterator[None]:
        """Limit resident memory and allocated data (bytes), and CPU time of all processors together (seconds)."""
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(
            resource.RLIMIT_DATA, (allocated if hard == resource.RLIM_INFINITY else min(allocated, hard), hard)
        )
        self._limit = resident
        self._serving.set()
        signal.setitimer(signal.ITIMER_PROF, seconds)
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


def _stay_with_owner() -> None:
    """End this process when the process that started it ends, at any point of a statement."""
    owner = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_OWNER_CHECK)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
