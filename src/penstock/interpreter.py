"""Starts Python child processes so that they do not import modules from the working directory.

Python adds it to the path for ``-m`` and ``-c``, so that a file ``json.py`` in the folder where a command is called would
be executed, with the credentials of the command. ``-P`` and ``PYTHONSAFEPATH`` (Python 3.11) prevent that.
"""

import os
import sys

__all__ = ["SAFE_PATH", "guard_children", "python_module"]

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""For the environment of a program that starts Python processes itself, such as Spark or multiprocessing."""


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs ``module`` as ``python -m`` does, in this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def guard_children() -> None:
    """Remove the working directory from the module path of this process's Python children, and of theirs."""
    os.environ.update(SAFE_PATH)
