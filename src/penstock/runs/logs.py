"""The logs of runs: events in files of JSON lines, the oldest of which are removed once a log is long.

An event is a line that a process wrote, with the time at which it was read. Places in a log are texts, ``NUMBER:OFFSET`` of
a file and the bytes before the event, so that a reader goes on where it was.
"""

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

__all__ = ["STREAMS", "LogEvent", "LogPage", "LogWriter", "log_changed", "log_events", "log_written", "read_log"]

STREAMS = ("output", "error")
_FILE_BYTES = 8_000_000
_FILES = 8
_PAGE_CHARACTERS = 1_000_000  # GetLogEvents: "up to 1 MB (10,000 log events)"
_LINE_BYTES = 200_000  # CloudWatch's events have up to 256 KB
_SUFFIX = ".jsonl"
_CLOCKS = 1.0  # seconds: files have times of a coarser clock than events


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line, without its end, and the milliseconds since 1970 at which it was read."""

    time: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some events in order, the place of the first and the place behind the last."""

    events: Sequence[LogEvent]
    begin: str
    end: str


class LogWriter:
    """Writes one stream of a run. Lines may come in pieces."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._number = max(_numbers(folder), default=-1)
        self._rest = b""
        self._open_next()

    def write(self, data: bytes) -> None:
        """Append; a full disk loses lines, not the run."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > _LINE_BYTES:
            lines.append(self._rest[:_LINE_BYTES])
            self._rest = self._rest[_LINE_BYTES:]
        self._append(lines)

    def close(self) -> None:
        """Write the last line, which may have no end."""
        self._append([self._rest] if self._rest else [])
        self._rest = b""
        os.close(self._file)

    def _append(self, lines: Sequence[bytes]) -> None:
        now = int(time.time() * 1000)
        for line in lines:
            for start in range(0, max(1, len(line)), _LINE_BYTES):
                text = line[start : start + _LINE_BYTES].decode(errors="replace").removesuffix("\r")
                self._put(orjson.dumps([now, text]) + b"\n")

    def _put(self, row: bytes) -> None:
        if self._size + len(row) > _FILE_BYTES:
            os.close(self._file)
            self._open_next()
        try:
            self._size += os.write(self._file, row)
        except OSError:
            return

    def _open_next(self) -> None:
        self._number += 1
        name = self._folder / f"{self._number:06}{_SUFFIX}"
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._size = os.fstat(self._file).st_size
        for number in sorted(_numbers(self._folder))[:-_FILES]:
            (self._folder / f"{number:06}{_SUFFIX}").unlink(missing_ok=True)


def read_log(folder: Path, *, place: str | None, limit: int, backward: bool = False) -> LogPage:
    """Return up to ``limit`` events, of a million characters together: those behind ``place``, or, ``backward``, before it.

    Without a place, reading begins at the log's first event, and backward at its last. The place of a file that was removed
    counts as the beginning of the next one.
    """
    if backward:
        return _backward(folder, place, limit)
    number, offset = _parsed(place) if place else (0, 0)
    events: list[LogEvent] = []
    begin = end = f"{number}:{offset}"
    length = 0
    for first, (row, behind) in enumerate(_rows(folder, number, offset)):
        begin = begin if first else end
        length += len(row.message)
        if len(events) == limit or (events and length > _PAGE_CHARACTERS):
            break
        events.append(row)
        end = behind
    return LogPage(events=events, begin=begin, end=end)


def log_events(folder: Path, since: float) -> Iterator[tuple[LogEvent, str]]:
    """Yield the events of ``since``, in seconds since 1970, and later, and some earlier ones, each with the place behind it.

    Files that were not written since then are not read.
    """
    first = min((number for number, written in _written(folder) if written + _CLOCKS >= since), default=None)
    return iter(()) if first is None else _rows(folder, first, 0)


def log_changed(folder: Path, since: float) -> bool:
    """Return whether the log was written at ``since``, in seconds since 1970, or later."""
    return any(written + _CLOCKS >= since for _, written in _written(folder))


def log_written(folder: Path) -> int:
    """Return the milliseconds since 1970 at which the log was last written; 0 for none."""
    return int(max((written for _, written in _written(folder)), default=0.0) * 1000)


def _written(folder: Path) -> Iterator[tuple[int, float]]:
    """Yield the number of each file with the time at which it was last written."""
    for number in _numbers(folder):
        with suppress(FileNotFoundError):
            yield number, (folder / f"{number:06}{_SUFFIX}").stat().st_mtime


def _backward(folder: Path, place: str | None, limit: int) -> LogPage:
    until = _parsed(place) if place else None
    page: deque[tuple[LogEvent, str, str]] = deque()
    before, length = "0:0", 0
    for row, behind in _rows(folder, 0, 0):
        if until is not None and _parsed(behind) > until:
            break
        page.append((row, before, behind))
        before = behind
        length += len(row.message)
        while len(page) > limit or (len(page) > 1 and length > _PAGE_CHARACTERS):
            length -= len(page.popleft()[0].message)
    if not page:
        return LogPage(events=(), begin=place or "0:0", end=place or "0:0")
    return LogPage(events=[log_event for log_event, _, _ in page], begin=page[0][1], end=page[-1][2])


def _rows(folder: Path, number: int, offset: int) -> Iterator[tuple[LogEvent, str]]:
    """Yield each event from a place on, with the place behind it; a line that is being written is left out."""
    for segment in sorted(_numbers(folder)):
        if segment < number:
            continue
        try:
            with (folder / f"{segment:06}{_SUFFIX}").open("rb") as file:
                if segment == number:
                    file.seek(offset)
                while (row := file.readline()).endswith(b"\n"):
                    moment, text = orjson.loads(row)
                    yield LogEvent(moment, text), f"{segment}:{file.tell()}"
        except FileNotFoundError:
            continue


def _numbers(folder: Path) -> Sequence[int]:
    return [int(file.stem) for file in folder.glob(f"*{_SUFFIX}") if file.stem.isdigit()]


def _parsed(place: str) -> tuple[int, int]:
    number, _, offset = place.partition(":")
    return int(number), int(offset)
