"""What a process may do beyond its files: capabilities, the gain of rights by programs, limits, its end with its parent.

Sources: capabilities(7), prctl(2), getrlimit(2).
"""

import contextlib
import ctypes
import os
import resource
import signal
import struct
from pathlib import Path

from penstock.sandbox.syscalls import call, prctl

__all__ = ["adopt_orphans", "drop_privileges", "end_with_parent", "limit", "shed_user"]

_PR_SET_PDEATHSIG, _PR_CAPBSET_READ, _PR_CAPBSET_DROP = 1, 23, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CLEAR_ALL = 38, 47, 4
_PR_SET_CHILD_SUBREAPER = 36
_CAPABILITIES_VERSION = 0x20080522
_MOST_CAPABILITIES = 64
_PROCESSES = 4096
_FILES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_MEMORY_ORDER = Path("/proc/self/oom_score_adj")
_KILLED_FIRST = 500  # proc_pid_oom_score_adj(5): before the server, behind what asks to be


def drop_privileges(*, all_files: bool = False) -> None:
    """Drop every capability, for good; no program that is executed from now on gains any right. Raises :class:`OSError`.

    With ``all_files``, root's right to read and write files of other users stays.
    """
    capabilities = _capabilities() & _FILES if all_files else 0
    with contextlib.suppress(OSError):
        prctl(_PR_CAP_AMBIENT, _CLEAR_ALL)
    for number in range(_MOST_CAPABILITIES):
        try:
            is_bound = prctl(_PR_CAPBSET_READ, number)
        except OSError:
            break  # the kernel has no more
        if is_bound and not capabilities & 1 << number:
            # Without the right to it the process has no capability to lose, and no_new_privs keeps it from more.
            with contextlib.suppress(PermissionError):
                prctl(_PR_CAPBSET_DROP, number)
    call("capset", struct.pack("=Ii", _CAPABILITIES_VERSION, 0), struct.pack("=6I", capabilities, capabilities, 0, 0, 0, 0))
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _capabilities() -> int:
    """Return the lower half of the permitted capabilities as bits."""
    data = ctypes.create_string_buffer(24)
    call("capget", struct.pack("=Ii", _CAPABILITIES_VERSION, 0), data)
    return int(struct.unpack("=6I", data.raw)[1])


def shed_user(uid: int, gid: int) -> None:
    """Become another user for good, without further groups. Raises :class:`OSError`."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def limit(*, own_user: bool) -> None:
    """Write no core dumps, and be the first that the kernel ends when memory is short; bound an own user's processes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if own_user:
        resource.setrlimit(resource.RLIMIT_NPROC, (_PROCESSES, _PROCESSES))
    with contextlib.suppress(OSError, ValueError):
        if int(_MEMORY_ORDER.read_text()) < _KILLED_FIRST:
            _MEMORY_ORDER.write_text(str(_KILLED_FIRST))


def end_with_parent(parent: int) -> None:
    """Be killed when ``parent`` ends, also if it has ended already. A change of the user undoes it: call it afterwards."""
    with contextlib.suppress(OSError):
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Be the parent of what this process's children leave behind, in whatever session."""
    with contextlib.suppress(OSError):
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
