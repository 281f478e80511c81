"""Starts Python child processes so that they do not import modules from the working directory.

Python adds it to the path for ``-m`` and ``-c``, so that a file ``json.py`` in the folder where a command is called would
be executed, with the credentials of the command. ``-P`` and ``PYTHONSAFEPATH`` (Python 3.11) prevent that.

Any user of the machine reads any process's command line (ps(1)). ``python -m penstock.interpreter FILE`` runs what a private
file says, with arguments that are in that file alone.
"""

import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

__all__ = ["SAFE_PATH", "guard_children", "python_module", "with_hidden_arguments"]

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""For the environment of a program that starts Python processes itself, such as Spark or multiprocessing."""


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs ``module`` as ``python -m`` does, in this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def with_hidden_arguments(file: Path, arguments: Sequence[str], *, module: str = "", script: str = "") -> list[str]:
    """Return the command line that runs a module or a script with ``arguments``, which are written to ``file``.

    Only the owner can read the file, which has to stay until the program has begun. ``sys.argv`` is what it would be.
    """
    document = json.dumps({"module": module, "script": script, "arguments": list(arguments)})
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        os.fchmod(opened.fileno(), 0o600)  # also one that was there before
        opened.write(document)
    return python_module(__name__, str(file))


def guard_children() -> None:
    """Remove the working directory from the module path of this process's Python children, and of theirs."""
    os.environ.update(SAFE_PATH)


def _run(file: Path) -> None:
    document = json.loads(file.read_text())
    sys.argv[:] = [document["script"], *document["arguments"]]
    sys.excepthook = _print_exception
    if document["script"]:
        runpy.run_path(document["script"], run_name="__main__")
    else:
        runpy.run_module(document["module"], run_name="__main__", alter_sys=True)


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception as Python does, without the frames that are not the program's."""
    while trace is not None and trace.tb_frame.f_code.co_filename in {__file__, runpy.__file__, "<frozen runpy>"}:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
