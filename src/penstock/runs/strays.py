"""Ends what a run left behind: the processes that it started, also in sessions of their own.

A run's processes inherit its token in their environment (proc_pid_environ(5)), by which they are found. Elsewhere than on
Linux none are.
"""

import os
import signal
from pathlib import Path

from penstock.runs.plans import RUN_TOKEN

__all__ = ["kill_strays"]

_PROC = Path("/proc")


def kill_strays(account: str, run_id: str) -> int:
    """Kill the processes of a run, except this one, and return how many were found."""
    mark = f"{RUN_TOKEN}={account}.{run_id}.".encode()
    found = [pid for pid in _others() if _has(pid, mark)]
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return len(found)


def _others() -> list[int]:
    if not _PROC.is_dir():
        return []
    return [int(each.name) for each in _PROC.iterdir() if each.name.isdigit() and int(each.name) != os.getpid()]


def _has(pid: int, mark: bytes) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return False
    return any(each.startswith(mark) for each in environment.split(b"\0"))
