"""The files of the audit log: lines are appended, new files begin by size and age, old ones are removed by age and size.

Each line has the SHA-256 of the line before it, and the first line of a file that of the last line of the file before, so
that a changed or removed line can be detected.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from penstock import durable

__all__ = ["SUFFIX", "Retention", "Segments", "segments_in"]

SUFFIX = ".jsonl"
_MODE = 0o600
_FOLDER_MODE = 0o700
_TIDY_SECONDS = 60.0
_SLICE = 8  # lines
_PAUSE_SECONDS = 0.000_5
_LIVE_SECONDS = 120.0  # since its last change: so long a file may still be in use by another process


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a file is written and how long files are kept. Sizes are in bytes, times in seconds."""

    segment_bytes: int = 64 * 1024 * 1024
    segment_seconds: float = 86_400.0
    keep_seconds: float = 90 * 86_400.0
    keep_bytes: int = 1024 * 1024 * 1024

    def share(self, divisor: int) -> "Retention":
        """Return the retention of files that get a part of the room."""
        return replace(self, segment_bytes=self.segment_bytes // divisor, keep_bytes=self.keep_bytes // divisor)


class Segments:
    """The files of one kind in a folder. Each process appends to its own file; to be used by one thread."""

    def __init__(self, folder: Path, kind: str, retention: Retention) -> None:
        self._folder = folder
        self._kind = kind
        self._retention = retention
        # Names sort by time; servers and workers that begin files at the same time get different names.
        self._owner = f"{os.getpid()}-{secrets.token_hex(3)}"
        self._file: Path | None = None
        self._descriptor = -1
        self._began = 0.0
        self._size = 0
        self._digest = ""
        self._tidied = 0.0

    def append(self, lines: Iterable[Callable[[str], bytes]], now: float) -> None:
        """Append lines, each made from the digest of the line before: all of them or, raising ``OSError``, none."""
        if self._descriptor < 0 or self._size >= self._retention.segment_bytes or now - self._began > self._age:
            self._begin(now)
        digest, content = self._digest, bytearray()
        for number, make in enumerate(lines, start=1):
            if number % _SLICE == 0:
                # A computing thread keeps the interpreter lock for 5 ms, which would delay answers.
                time.sleep(_PAUSE_SECONDS)
            line = make(digest)
            digest = hashlib.sha256(line).hexdigest()
            content += line
            content += b"\n"
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            durable.sync_file(self._descriptor)
        except OSError:
            # The same lines are written again when there is room.
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(content)
        self._digest = digest

    def apply_retention(self, now: float) -> None:
        """Remove files beyond the retention, at most once a minute."""
        if now - self._tidied < _TIDY_SECONDS or not self._folder.is_dir():
            return
        self._tidied = now
        segments = [(file, status) for file in segments_in(self._folder, self._kind) if (status := self._status(file))]
        total = self._size + sum(status.st_size for _, status in segments)
        for file, status in segments:
            age = now - status.st_mtime
            too_much = total > self._retention.keep_bytes and age > _LIVE_SECONDS
            if age > self._retention.keep_seconds or too_much:
                file.unlink(missing_ok=True)
                total -= status.st_size

    def _status(self, file: Path) -> os.stat_result | None:
        """Return None for the own file, and for one that another process has just removed."""
        try:
            return None if file == self._file else file.stat()
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def _age(self) -> float:
        return self._retention.segment_seconds

    def _begin(self, now: float) -> None:
        durable.make_folder(self._folder, mode=_FOLDER_MODE)
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        file = self._folder / f"{self._kind}-{moment}-{self._owner}{SUFFIX}"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, _MODE)
        self.close()
        self._file, self._descriptor, self._began, self._size = file, descriptor, now, 0


def segments_in(folder: Path, kind: str = "") -> Iterator[Path]:
    """Yield the files of the log, of one kind or of all, the oldest first."""
    files = [file for file in folder.glob(f"{kind}*{SUFFIX}") if file.is_file()]
    # Names begin with the kind, and files are sorted by the time after it.
    yield from sorted(files, key=lambda file: (file.name.partition("-")[2], file.name))
