"""The process that runs work recorded in the store, and whether that process still runs."""

import os
import socket
import uuid
from datetime import datetime, timedelta

__all__ = ["forget_owner", "is_lost", "new_owner"]

_living: set[str] = set()


def new_owner() -> str:
    """Return a name for a service of this process: host, process id, and a unique part."""
    owner = f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid.uuid4().hex}"
    _living.add(owner)
    return owner


def forget_owner(owner: str) -> None:
    """Record that the service of this name has ended."""
    _living.discard(owner)


def is_lost(owner: str, heartbeat: datetime, *, now: datetime, dead_after: timedelta) -> bool:
    """Return whether the process of ``owner``, which ran at ``heartbeat``, has ended.

    On this host the process id shows it at once; on another host, or if another process has the id, the age of the
    heartbeat does.
    """
    if owner in _living:
        return False
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if host == socket.gethostname()[:100] and pid.isdigit() and (int(pid) == os.getpid() or not _runs(int(pid))):
        return True
    return now - heartbeat > dead_after


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
