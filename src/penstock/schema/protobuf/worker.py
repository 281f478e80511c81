"""The child process in which Google's protocol compiler runs; a program of its own, which imports nothing of Penstock but
what confines it to its folder and what it speaks with its owner.

Arguments: the descriptor of the socket to its owner, the folder that has ``penstock``, the one that has ``grpc_tools``, a
folder to work in, and folders of files that every definition may import. A request is a frame
(:mod:`penstock.children.frames`) with a head of JSON: ``files``, a mapping of import path to text, ``main``, the path to
compile, and ``seconds``, how much of the processor it may take before the system ends the process by SIGPROF. The answers
are the messages of :mod:`penstock.schema.protobuf.compiler`. Standard error carries the compiler's complaints as it finds
them.
"""

import errno
import json
import os
import resource
import shutil
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["MAX_ERRORS", "MAX_MEMORY", "main"]

MAX_MEMORY = 1 << 30  # address space of the child, bytes
MAX_ERRORS = 20
_MAX_MESSAGE = 500
_MAX_REQUEST = (1 << 32) - 1  # bytes; the owner is trusted, and bounds what it accepts
_BAD_PATHS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR})


def main() -> None:
    """Answer requests until the owner closes the socket."""
    descriptor, own, library, folder, shipped = int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5:]
    _remove_at_the_end(folder, descriptor)
    sys.path.append(own)
    from penstock.children.frames import Bounds, Channel  # noqa: PLC0415 - its folder is known only now
    from penstock.children.serving import confine_to  # noqa: PLC0415 - as above

    channel = Channel.inherited(descriptor, Bounds(head=_MAX_REQUEST))
    # What the folder links to is in the packages of the common definitions. The compiler is C++, its input anybody's.
    common = [link.resolve() for link in folder.glob("common/google/*")]
    confine_to({}, read=[Path(library), *map(Path, shipped), *common], write=[folder])
    sys.path.append(library)
    from grpc_tools import _protoc_compiler as protoc  # noqa: PLC0415 - as above

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with suppress(EOFError, ConnectionError):
        while True:
            request = json.loads(channel.receive()[0])
            started = time.process_time()
            # Unlike the system's limit of a process's time, which counts whole seconds.
            signal.setitimer(signal.ITIMER_PROF, request["seconds"])
            try:
                answer, body = _compile(protoc, request, folder, shipped)
            except OSError as error:
                answer, body = {"$type": "CannotCompile", "reason": str(error)}, b""
            signal.setitimer(signal.ITIMER_PROF, 0)
            channel.send(json.dumps({**answer, "seconds": time.process_time() - started}).encode(), body)


def _remove_at_the_end(folder: Path, descriptor: int) -> None:
    """Let a process of its own remove ``folder`` when this one has ended, however it did: a confined one cannot."""
    ended, alive = os.pipe()
    if os.fork():
        os.close(ended)
        return  # ``alive`` stays open as long as this process lives
    os.setsid()  # what ends this process's group leaves it
    for used in (0, 1, 2, alive, descriptor):
        os.close(used)
    os.read(ended, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _compile(protoc: Any, request: dict[str, Any], folder: Path, shipped: list[str]) -> tuple[dict[str, Any], bytes]:
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
        message = f"The path cannot be a file: {error.strerror}."
        return _refused([{"file": name, "line": 0, "column": 0, "message": message}])
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
        return {"$type": "Compiled"}, target.read_bytes()
    try:
        # Only this entry gives errors as values; it comes second because it also generates code where it succeeds.
        protoc.get_protos(main_path.encode(), [path.encode() for path in (str(sources), *shipped)])
    except protoc.ProtocErrors as errors:
        return _refused([_error(error) for error in errors.errors()[:MAX_ERRORS]])
    return _refused([{"file": main_path, "line": 0, "column": 0, "message": "The compiler gives no reason."}])


def _error(error: Any) -> dict[str, Any]:
    return {
        "file": _text(error.filename)[:_MAX_MESSAGE],
        "line": error.line + 1,
        "column": error.column + 1 if error.line >= 0 else 0,
        "message": _text(error.message)[:_MAX_MESSAGE],
    }


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _refused(errors: list[dict[str, Any]]) -> tuple[dict[str, Any], bytes]:
    return {"$type": "Refused", "errors": errors}, b""


if __name__ == "__main__":
    main()
