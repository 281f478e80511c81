"""The process that runs work recorded in the store, and whether that process still runs."""

import hashlib
import os
import socket
import uuid
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

__all__ = ["forget_owner", "is_lost", "new_owner"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")

_living: set[str] = set()


def new_owner() -> str:
    """Return a name for a service of this process: where process ids mean what they mean here, process id, a unique part."""
    owner = f"{_place()}:{os.getpid()}:{uuid.uuid4().hex}"
    _living.add(owner)
    return owner


def forget_owner(owner: str) -> None:
    """Record that the service of this name has ended."""
    _living.discard(owner)


def is_lost(owner: str, heartbeat: datetime, *, now: datetime, dead_after: timedelta) -> bool:
    """Return whether the process of ``owner``, which ran at ``heartbeat``, has ended.

    Where process ids mean the same, the process id shows it at once; elsewhere, or if another process has the id, the age
    of the heartbeat does.
    """
    if owner in _living:
        return False
    place, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if place == _place() and pid.isdigit() and (int(pid) == os.getpid() or not _runs(int(pid))):
        return True
    return now - heartbeat > dead_after


@cache
def _place() -> str:
    """Return the host's name and what sets apart the process ids of this kernel, boot and container from all others.

    A name alone does not: containers and machines of one image have the same. Source: pid_namespaces(7), proc(5).
    """
    try:
        marks = [_BOOT.read_text().strip(), str(_PROCESSES.readlink())]
    except OSError:  # not Linux
        marks = [hex(uuid.getnode())]
    digest = hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16]
    return f"{socket.gethostname()[:60].replace(':', '_')}/{digest}"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
