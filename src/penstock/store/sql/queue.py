"""The queue of an SQLite file's writers, of all threads and processes.

SQLite's own waiting writers sleep, up to a tenth of a second at a time, and try again
(https://www.sqlite.org/c3ref/busy_timeout.html): the file lies idle between two of them. Here who is next is woken at once.
SQLite still decides who writes: this lock guards nothing but the waiting.
"""

import fcntl
import os
from threading import RLock
from types import TracebackType

__all__ = ["WritersQueue"]


class WritersQueue:
    """A lock that a thread may take again while it has it; with a ``path`` one for all processes that name the same file.

    The file is made at the first use and is never written. The system gives it free when the process that has it ends,
    however it ends.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._lock = RLock()
        self._depth = 0
        self._file: int | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            if self._depth == 0 and self._path is not None:
                if self._file is None:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._depth += 1
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._depth -= 1
            if self._depth == 0 and self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None
