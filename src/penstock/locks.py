"""File locks: one holder per machine. The kernel releases the lock however its process ends."""

import fcntl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["file_lock", "is_locked"]


def file_lock(path: Path, *, patience: float = 0.0, shared: bool = False) -> "BaseFileLock":
    """Return a lock on ``path``, for ``acquire`` and ``release`` or for ``with``; all threads share it.

    It is held until it is released or the object is deleted; the file stays.
    ``acquire`` raises :class:`TimeoutError` if another holds the lock after ``patience`` seconds, and :class:`OSError`
    if the file cannot be opened or its file system has no locks. A new file is private, or has the umask's mode if
    several users lock it (``shared``). An attempt to lock it does not change what the holder wrote into it.
    """
    from filelock import UnixFileLock  # noqa: PLC0415 - takes as long to import as click, and most commands need no lock

    # The soft lock, a file that exists or not, would outlive a killed process.
    if shared:
        return UnixFileLock(path, timeout=patience, thread_local=False, fallback_to_soft=False)
    return UnixFileLock(path, timeout=patience, mode=0o600, thread_local=False, fallback_to_soft=False)


def is_locked(path: Path) -> bool:
    """Return whether any process holds the lock, this one included.

    The test takes a shared lock for a moment, so that two tests at once do not take each other for a holder.
    """
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
