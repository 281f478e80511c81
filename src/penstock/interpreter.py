"""How a Python child process is started: never with the working directory among the places that modules come from.

Python puts it there for ``-m`` and ``-c``, so that a file ``json.py`` in the folder where a command is called would be
executed, with whatever credentials the command holds. ``-P`` and ``PYTHONSAFEPATH`` (Python 3.11) keep it out.
"""

import os
import sys

__all__ = ["SAFE_PATH", "guard_children", "python_module"]

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""For the environment of a program that starts Python processes itself, such as Spark or multiprocessing."""


def python_module(module: str, *arguments: str) -> list[str]:
    """The command line that runs ``module`` as ``python -m`` does, in this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def guard_children() -> None:
    """Keep the working directory from this process's Python children, and from theirs."""
    os.environ.update(SAFE_PATH)
