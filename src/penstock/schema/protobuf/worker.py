"""The child process in which Google's protocol compiler runs; a program of its own, which imports nothing of Penstock but
what confines it to its folder.

Arguments: the folder that has ``penstock``, the one that has ``grpc_tools``, a folder to work in, and folders of files that
every definition may import. Standard input carries requests, standard output
answers. A request is its length (4 bytes, big-endian) and JSON: ``files``, a mapping of import path to text, ``main``,
the path to compile, and ``seconds``, how much of the processor it may take before the system ends the process by SIGPROF. An
answer is one byte, a length (4 bytes), the seconds of the processor used (a double) and a body: ``D`` with a
FileDescriptorSet, ``E`` with JSON, a list of ``[file, line, column, message]``, lines and columns counted from 1 and 0 where
there is none, or ``F`` with what the machine lacks, as text. Standard error carries the compiler's complaints as it finds
them.
"""

import errno
import json
import os
import resource
import shutil
import signal
import struct
import sys
import time
import warnings
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["ANSWER_HEAD", "MAX_ERRORS", "MAX_MEMORY", "main"]

ANSWER_HEAD = ">cId"  # kind, bytes of the body, seconds of the processor
MAX_MEMORY = 1 << 30  # address space of the child, bytes
MAX_ERRORS = 20
_MAX_MESSAGE = 500
_BAD_PATHS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR})


def main() -> None:
    """Answer requests until standard input ends."""
    _remove_at_the_end(Path(sys.argv[3]))
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # The compiler may write to it, and that is nobody's.
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    own, library, folder, shipped = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:]
    sys.path.append(own)
    _confine(folder, [Path(library), *map(Path, shipped)])
    sys.path.append(library)
    from grpc_tools import _protoc_compiler as protoc  # noqa: PLC0415 - its folder is known only now

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while (request := _read(requests)) is not None:
        started = time.process_time()
        asked = json.loads(request)
        # Unlike the system's limit of a process's time, which counts whole seconds.
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        try:
            kind, body = _compile(protoc, asked, folder, shipped)
        except OSError as error:
            kind, body = b"F", str(error).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(struct.pack(ANSWER_HEAD, kind, len(body), time.process_time() - started) + body)
        answers.flush()


def _remove_at_the_end(folder: Path) -> None:
    """Let a process of its own remove ``folder`` when this one has ended, however it did: a confined one cannot."""
    ended, alive = os.pipe()
    if os.fork():
        os.close(ended)
        return  # ``alive`` stays open as long as this process lives
    for each in (0, 1, 2, alive):
        os.close(each)
    os.read(ended, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _confine(folder: Path, libraries: list[Path]) -> None:
    """Leave the process its libraries to read and its folder to write: the compiler is C++, its input anybody's."""
    from penstock.sandbox.confinement import Confinement, confine, is_possible  # noqa: PLC0415 - as grpc_tools
    from penstock.sandbox.surroundings import needed  # noqa: PLC0415 - as above

    # What the folder links to is in the packages of the common definitions.
    common = [each.resolve() for each in folder.glob("common/google/*")]
    if is_possible():
        confine(Confinement(read=needed({}, *libraries, *common), write=(folder,)))


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack(">I", head)
    return stream.read(size)


def _compile(protoc: Any, request: dict[str, Any], folder: Path, shipped: list[str]) -> tuple[bytes, bytes]:
    sources, target = folder / "src", folder / "out"
    shutil.rmtree(sources, ignore_errors=True)
    target.unlink(missing_ok=True)
    main_path = request["main"]
    try:
        for name, text in request["files"].items():
            path = sources / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        if error.errno not in _BAD_PATHS:
            raise
        return _refused([[name, 0, 0, f"The path cannot be a file: {error.strerror}."]])
    arguments = [
        "protoc",
        f"-I{sources}",
        *(f"-I{path}" for path in shipped),
        f"--descriptor_set_out={target}",
        "--include_source_info",
        "--include_imports",
        "--retain_options",
        main_path,
    ]
    if protoc.run_main([argument.encode() for argument in arguments]) == 0:
        return b"D", target.read_bytes()
    try:
        # Only this entry gives errors as values; it comes second because it also generates code where it succeeds.
        protoc.get_protos(main_path.encode(), [path.encode() for path in (str(sources), *shipped)])
    except protoc.ProtocErrors as errors:
        return _refused([_error(error) for error in errors.errors()[:MAX_ERRORS]])
    return _refused([[main_path, 0, 0, "The compiler gives no reason."]])


def _error(error: Any) -> list[Any]:
    filename, message = (_text(value) for value in (error.filename, error.message))
    return [filename[:_MAX_MESSAGE], error.line + 1, error.column + 1 if error.line >= 0 else 0, message[:_MAX_MESSAGE]]


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _refused(errors: list[list[Any]]) -> tuple[bytes, bytes]:
    return b"E", json.dumps(errors).encode()


if __name__ == "__main__":
    main()
