"""Google's protocol compiler, run in child processes.

The compiler is C++, ends the process it runs in on some inputs (option values that nest ten thousand levels), and holds
the interpreter while it works. Therefore it runs in child processes. They are started on first use, reused, limited in
memory, time and error output, and replaced when they die; see :mod:`penstock.schema.protobuf.worker`.
"""

import atexit
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from penstock.children.frames import Bounds, FrameTooLarge
from penstock.children.messages import MalformedMessage, Message, MessageReader
from penstock.children.process import ChildEnded, ChildProcess, base_environment
from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem
from penstock.schema.cpu_budget import charge
from penstock.schema.protobuf.worker import MAX_ERRORS

__all__ = ["MAX_SECONDS", "CompileError", "CompilerGaveUp", "CompilerPool", "compile_files", "shipped_files"]

MAX_SECONDS = 20.0  # of one compilation by the clock, on a machine that does other things; its work is bounded apart
# Of the processor. Definitions of 170,000 characters take 0.15 s; what takes longer is quadratic in something.
_CPU_SECONDS, _CPU_SECONDS_PER_CHAR, _MAX_CPU_SECONDS = 0.6, 1e-6, 4.0
# Ranges that overlap are one complaint a pair: thousands of them are seconds of work and gigabytes.
_MAX_COMPLAINTS = 1 << 20  # bytes, some ten thousand complaints
_COMPLAINT = re.compile(r"^([^:\n]+):(\d+):(\d+): (?!warning: )(.*)\n", re.MULTILINE)
_MAX_WORKERS = 2
_ANSWERS = Bounds(head=1 << 20, body=1 << 28)  # bytes
_WORKER = Path(__file__).with_name("worker.py")
_OWN = str(Path(__file__).parents[3])
_OWN_FILES = Path(__file__).with_name("shipped")
_COMMON = ("api", "logging", "longrunning", "rpc", "type")


@dataclass(frozen=True, slots=True)
class CompileError:
    """One complaint of the compiler; ``line`` and ``column`` count from 1 and are 0 where it names none."""

    file: str
    line: int
    column: int
    message: str


class Compiled(Message, frozen=True):
    """An answer of the compiler's process, with the FileDescriptorSet beside it. ``seconds`` are those of the processor."""

    seconds: float


class Refused(Message, frozen=True):
    """The definition is wrong."""

    seconds: float
    errors: list[CompileError]


class CannotCompile(Message, frozen=True):
    """What the machine lacks."""

    seconds: float
    reason: str


class CompilerGaveUp(Exception):
    """The compiler died or took too long: the input is too large for it, not wrong in any way that it names."""


class _Flooded(Exception):
    """The compiler was stopped because it reported too many errors; ``errors`` are the first of them."""

    def __init__(self, complaints: str) -> None:
        super().__init__("it finds more mistakes than it can list")
        listed = _COMPLAINT.findall(complaints)[:MAX_ERRORS]
        self.errors = [CompileError(file, int(line), int(column), text[:500]) for file, line, column, text in listed]


class CompilerPool:
    """At most ``size`` compilers; threads wait for a free one."""

    def __init__(self, size: int = _MAX_WORKERS) -> None:
        self._size = size
        self._idle: list[_Worker] = []
        self._lock, self._free = threading.Lock(), threading.BoundedSemaphore(size)

    def compile(self, files: Mapping[str, str], main: str) -> bytes | list[CompileError]:
        """Return the FileDescriptorSet of ``main`` and all it imports (``main`` last), or the compiler's errors.

        ``files`` are texts by import path, beside which only Google's own ``google/protobuf/*.proto`` are known. Raises
        :class:`CompilerGaveUp`, and :class:`~penstock.errors.EnvironmentProblem` where the compiler is not installed or
        cannot be run.
        """
        seconds = min(_MAX_CPU_SECONDS, _CPU_SECONDS + _CPU_SECONDS_PER_CHAR * sum(map(len, files.values())))
        request = json.dumps({"files": dict(files), "main": main, "seconds": seconds}).encode()
        with self._free:
            worker = self._take()
            try:
                answer, body = worker.ask(request, time.monotonic() + MAX_SECONDS)
            except _Flooded as flood:
                worker.close()
                if not flood.errors:
                    raise CompilerGaveUp(str(flood)) from None
                return flood.errors
            except BaseException:
                worker.close()
                raise
            with self._lock:
                self._idle.append(worker)
        if isinstance(answer, CannotCompile):
            raise _cannot_run(answer.reason)
        return body if isinstance(answer, Compiled) else answer.errors

    def close(self) -> None:
        """End the idle compilers; a later call starts new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def after_fork(self) -> None:
        """Leave the parent's compilers to the parent."""
        for worker in self._idle:
            worker.abandon()
        self._idle = []
        # Another thread of the parent may have held them.
        self._lock, self._free = threading.Lock(), threading.BoundedSemaphore(self._size)

    def _take(self) -> "_Worker":
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.usable:
                    return worker
                worker.close()
        try:
            return _Worker()
        except OSError as error:
            raise _cannot_run(str(error)) from None


def _cannot_run(reason: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"Google's protocol compiler cannot be run: {reason}.",
        remedy=f"See to room for processes, memory and files in {tempfile.gettempdir()}.",
    )


class _Worker:
    """One child process and the folder it works in."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="penstock-protoc-")
        try:
            shipped = [str(_well_known_folder()), str(_OWN_FILES), self._link_common_files()]
            self._process = ChildProcess(
                # Isolated and without site: it needs the standard library and one package.
                [sys.executable, "-I", "-S", str(_WORKER)],
                _OWN,
                _library_folder(),
                self._folder,
                *shipped,
                environment=base_environment(),
                bounds=_ANSWERS,
                # Of its own session, so that a Ctrl-C at the server lets running requests finish.
                own_session=True,
                errors=subprocess.PIPE,
                umask=PRIVATE_UMASK,
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _link_common_files(self) -> str:
        """Return a folder with these packages alone: the one they are installed in has all sorts of files."""
        folder = Path(self._folder) / "common"
        (folder / "google").mkdir(parents=True)
        self._links = [folder / "google" / package.name for package in _common_folders()]
        for link, package in zip(self._links, _common_folders(), strict=True):
            link.symlink_to(package, target_is_directory=True)
        return str(folder)

    @property
    def usable(self) -> bool:
        """Whether the process runs and no cleaner of temporary folders took its files."""
        return self._process.running and all(link.is_symlink() for link in self._links)

    def ask(self, request: bytes, deadline: float) -> tuple[Compiled | Refused | CannotCompile, bytes]:
        """Return the answer, and what is beside it. Raises :class:`CompilerGaveUp` and :class:`_Flooded`."""
        self._complaints = bytearray()
        try:
            self._process.channel.send(request)
            head, body = self._receive(deadline)
            answer = _READER.read(head)
        except (OSError, EOFError):
            raise _gave_up(self._process.ended()) from None
        except (FrameTooLarge, MalformedMessage) as error:
            raise CompilerGaveUp(f"the compiler's answer cannot be read: {error}") from None
        self._drain()
        charge(max(0.0, answer.seconds))
        return answer, body

    def _receive(self, deadline: float) -> tuple[bytes, bytes]:
        """Return the answer's frame, and keep an eye on the complaints meanwhile."""
        channel, errors = self._process.channel, self._process.errors
        assert errors is not None
        with selectors.DefaultSelector() as selector:
            selector.register(channel, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise CompilerGaveUp(f"the compiler took longer than {MAX_SECONDS:g} s")
                for key, _ in ready:
                    if key.fileobj is channel:
                        with suppress(TimeoutError):  # a part of the frame
                            return channel.receive(0)
                    elif not self._note(key.fd):
                        selector.unregister(errors)

    def _note(self, descriptor: int) -> bool:
        """Read error output. Return whether there may be more."""
        chunk = os.read(descriptor, 1 << 16)
        self._complaints += chunk
        if len(self._complaints) > _MAX_COMPLAINTS:
            # On standard error it names files by where they are, not by how they are imported.
            raise _Flooded(self._complaints.decode(errors="replace").replace(f"{self._folder}/src/", ""))
        return bool(chunk)

    def _drain(self) -> None:
        """Read what is left of the complaints about this request, which are not the next one's."""
        assert self._process.errors is not None
        descriptor = self._process.errors.fileno()
        os.set_blocking(descriptor, False)
        with suppress(BlockingIOError):
            while os.read(descriptor, 1 << 16):
                pass

    def close(self) -> None:
        self._process.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """In a forked child: the process and its folder are the parent's."""
        self._process.abandon()


def _gave_up(ended: ChildEnded) -> CompilerGaveUp:
    if ended.exit.out_of_time:
        return CompilerGaveUp("it takes more time of the processor than any definition of its size should")
    return CompilerGaveUp("the compiler ended")


_READER: MessageReader[Compiled | Refused | CannotCompile] = MessageReader(Compiled | Refused | CannotCompile, most=1_000)


def _library_folder() -> str:
    spec = find_spec("grpc_tools")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentProblem(
            "Protobuf schemas need Google's protocol compiler, which is not installed.",
            remedy="Run: pip install 'penstock[protobuf]'",
        )
    return str(Path(spec.submodule_search_locations[0]).parent)


@cache
def shipped_files() -> frozenset[str]:
    """Return the import paths that need no reference: Google's well-known and common types, and Confluent's own files."""
    roots = [_OWN_FILES, _well_known_folder()]
    files = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*.proto")}
    for folder in _common_folders():
        files.update(f"google/{folder.name}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.proto"))
    return frozenset(files)


def _well_known_folder() -> Path:
    return Path(_library_folder()) / "grpc_tools" / "_proto"


def _common_folders() -> list[Path]:
    """Return the packages below ``google`` that hold .proto files beside their modules."""
    specs = [find_spec(f"google.{name}") for name in _COMMON]
    return [Path(spec.submodule_search_locations[0]) for spec in specs if spec and spec.submodule_search_locations]


_POOL = CompilerPool()
atexit.register(_POOL.close)
os.register_at_fork(after_in_child=_POOL.after_fork)


def compile_files(files: Mapping[str, str], main: str) -> bytes | list[CompileError]:
    """:meth:`CompilerPool.compile` on this process's own compilers."""
    return _POOL.compile(files, main)
