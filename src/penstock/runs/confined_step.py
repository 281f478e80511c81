"""One step before a run, in a process that is confined to what the step needs; standard input says which.

``{"confinement": ..., "command": [...]}`` executes a program, ``{"confinement": ..., "fetch": [...], "to": FOLDER}`` copies
files. What it makes, others may read: the folder around it says who.
"""

import json
import os
import resource
import sys
from pathlib import Path

from penstock.errors import PenstockError
from penstock.runs.inputs import fetch
from penstock.sandbox.confinement import Confinement, confine
from penstock.sandbox.privileges import end_with_parent

__all__ = ["main"]

_FILE_BYTES = 2 << 30
_PROCESSOR_SECONDS = 900


def main() -> int:
    """Do the step; return the exit status."""
    parent = os.getppid()
    step = json.load(sys.stdin)
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS))
    try:
        confine(Confinement.of(step["confinement"]))
        end_with_parent(parent)
        if "command" in step:
            os.execve(step["command"][0], step["command"], dict(os.environ))  # noqa: S606
        fetch(step["fetch"], Path(step["to"]), os.environ)
    except PenstockError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
