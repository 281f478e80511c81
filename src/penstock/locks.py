"""Locks on files: one holder on this machine, and the kernel frees the lock when its process ends, however it ends."""

import fcntl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["file_lock", "is_locked"]


def file_lock(path: Path, *, patience: float = 0.0, shared: bool = False) -> "BaseFileLock":
    """A lock on ``path``, for ``acquire`` and ``release`` or for ``with``; all threads share it.

    It is held until it is released or the object is gone; the file stays.
    ``acquire`` raises :class:`TimeoutError` if another holds the lock after ``patience`` seconds, and :class:`OSError`
    where the file cannot be opened or its file system has no locks. A file that is made is its owner's alone, or as the
    umask says where several users are to lock it (``shared``). Those who try leave alone what the holder wrote into it.
    """
    from filelock import UnixFileLock  # noqa: PLC0415 - takes as long to import as click, and most commands lock nothing

    # The other kind of lock, a file that is there or not, would outlive a killed process.
    if shared:
        return UnixFileLock(path, timeout=patience, thread_local=False, fallback_to_soft=False)
    return UnixFileLock(path, timeout=patience, mode=0o600, thread_local=False, fallback_to_soft=False)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock, this one included.

    Those who ask share the lock for an instant: two who ask at once do not take each other for its holder.
    """
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
