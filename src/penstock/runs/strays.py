"""Ends what a run left behind: the processes that it started, also in sessions of their own, and without its environment.

A run's processes inherit its token in their environment (proc_pid_environ(5)), by which they are found. Elsewhere than on
Linux none are. The supervisor is the parent of those whose parent has ended (prctl(2), PR_SET_CHILD_SUBREAPER), whatever
environment they have given themselves.
"""

import contextlib
import os
import signal
from pathlib import Path

from penstock.runs.plans import RUN_TOKEN

__all__ = ["kill_children", "kill_strays", "reap"]

_PROC = Path("/proc")


def kill_strays(account: str, run_id: str) -> int:
    """Kill the processes of a run, except this one, and return how many were found."""
    mark = f"{RUN_TOKEN}={account}.{run_id}.".encode()
    strays = [pid for pid in _others() if _has(pid, mark)]
    for pid in strays:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return len(strays)


def kill_children() -> int:
    """Kill every child of this process, and theirs, which become its children; return how many were found."""
    count = 0
    while children := [pid for pid in _others() if _parent(pid) == os.getpid()]:
        count += len(children)
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return count


def reap(child: int) -> None:
    """Forget the children that have ended, except ``child``: the orphans of a run are its supervisor's."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None and ended.si_pid != child:
            os.waitpid(ended.si_pid, 0)


def _parent(pid: int) -> int | None:
    try:
        # proc_pid_stat(5): behind the name, which may have any character, are the state and the parent.
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _others() -> list[int]:
    if not _PROC.is_dir():
        return []
    return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit() and int(path.name) != os.getpid()]


def _has(pid: int, mark: bytes) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return False
    return any(part.startswith(mark) for part in environment.split(b"\0"))
