"""The child processes in which statements are parsed and run, so that any statement can be stopped.

A child serves one statement at a time under limits of memory and of processor time, and is killed to stop the statement.
It is started when first needed, kept while it is usable, and runs statements of one account only. Parsing has processes of
its own, since the others may be busy for long.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.query.execution.messages import ParsedText
from penstock.query.execution.parsers import ParserPool
from penstock.query.execution.process import Folders, ProcessStarter, StatementProcess

__all__ = ["ChildPool"]

_IDLE = 4  # as many as run at a time
_BUSY = 2  # statements at a time, after which the pool keeps as many processes as it may

_Serves = tuple[str, Path | None, Path | None]  # an account, its lake, the parent folder of its statements' files


class ChildPool:
    """A pool of child processes. The caller bounds how many statements run; the pool bounds how many idle ones it keeps."""

    def __init__(self, *, idle: int = _IDLE) -> None:
        self._max_idle = idle
        self._starter = ProcessStarter()
        self._parsers = ParserPool(self._starter)
        self._lock = threading.Lock()
        self._idle: list[tuple[_Serves, StatementProcess]] = []
        self._at_work = self._starting = 0
        self._was_busy = False
        self._closed = False
        self._files: Path | None = None

    @contextmanager
    def acquire(self, account: str, lake: Path | None = None, files: Path | None = None) -> Iterator[StatementProcess]:
        """Lend a child for statements of ``account``; it is kept afterwards if it is still usable.

        It reads the folder ``lake`` and writes to ``files`` and below, and nothing else of the machine.
        """
        serves = (account, lake, files)
        child = self._take(serves)
        self._count(1, serves)
        try:
            yield child
        finally:
            self._give_back(serves, child)
            self._count(-1, serves)

    def parse(self, sql: str, parameters: Sequence[str]) -> ParsedText:
        """See :meth:`ParserPool.parse`."""
        return self._parsers.parse(sql, parameters)

    def folder(self, account: str) -> Path:
        """Return the parent folder of the files of the account's statements."""
        with self._lock:
            if self._files is None:
                self._files = Path(tempfile.mkdtemp(prefix="penstock-sql-"))
            folder = self._files / account
            folder.mkdir(mode=0o700, exist_ok=True)
            return folder

    def close(self) -> None:
        """End all idle children; a child at work ends when it is returned."""
        with self._lock:
            self._closed = True
            children = [child for _, child in self._idle]
            self._idle = []
            files, self._files = self._files, None
        self._parsers.close()
        for child in children:
            child.close()
        self._starter.close()
        if files is not None:
            shutil.rmtree(files, ignore_errors=True)

    def _take(self, serves: _Serves) -> StatementProcess:
        with self._lock:
            for number, (served, child) in enumerate(self._idle):
                if served == serves and child.usable:
                    del self._idle[number]
                    return child
        return self._starter.start(_folders(serves))

    def _count(self, change: int, serves: _Serves) -> None:
        """Count the processes at work, and start what is missing once several were: the next statements may be long.

        Then short ones need processes of their own, and a start takes half a second of a processor.
        """
        with self._lock:
            self._at_work += change
            self._was_busy = self._was_busy or self._at_work >= _BUSY
            missing = self._max_idle - len(self._idle) - self._at_work - self._starting
            if self._closed or not self._was_busy or missing <= 0:
                return
            self._starting += missing
        for _ in range(missing):
            self._starter.start_later(_folders(serves), lambda child: self._add(serves, child))

    def _add(self, serves: _Serves, child: StatementProcess | None) -> None:
        """Keep a process that was started ahead. A failure is one of the next statement, which tries again."""
        with self._lock:
            self._starting -= 1
            if child is not None and not self._closed:
                self._idle.append((serves, child))
                return
        if child is not None:
            child.close()

    def _give_back(self, serves: _Serves, child: StatementProcess) -> None:
        surplus: list[StatementProcess] = []
        with self._lock:
            if child.usable and not self._closed:
                self._idle.append((serves, child))
                # The child that has been idle longest ends, of any account.
                while len(self._idle) > self._max_idle:
                    surplus.append(self._idle.pop(0)[1])
            else:
                surplus.append(child)
        for unused in surplus:
            unused.close()


def _folders(serves: _Serves) -> Folders:
    _, lake, files = serves
    return {"read": [] if lake is None else [lake], "write": [] if files is None else [files]}
