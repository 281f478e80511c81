"""The bookmark of files: by key and modification time, as Glue keeps it.

For each path of a read, or partition of a table, the state has the latest modification time of a file that was read, and the
files that changed within ``maxBand`` seconds before it, as short digests: a listing may miss such files for a while, and a
file may appear with an older time.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.glue.jobs.bookmarks import Marks, State
from penstock.glue.sources.listing import SourceFile

__all__ = ["seen", "state_after", "unread"]

_ROOTS, _FILES, _HIGH, _BAND = "roots", "files", "high", "band"


def unread(files: Sequence[SourceFile], marks: Marks) -> list[SourceFile]:
    """Return the files that the bookmark does not have, and if it ends at a run, only those that this run had read."""
    unread_files = [file for file in files if not seen(file, marks.after)]
    return unread_files if marks.upto is None else [file for file in unread_files if seen(file, marks.upto)]


def seen(file: SourceFile, state: State | None) -> bool:
    """Return whether a file was read, as it is now, when ``state`` was committed."""
    mark = (state or {}).get(_ROOTS, {}).get(_digest(file.root))
    if mark is None or file.modified > mark[_HIGH]:
        return False
    return bool(file.modified <= mark[_HIGH] - mark[_BAND] * 1000 or _mark(file) in mark[_FILES])


def state_after(
    chosen: Sequence[SourceFile], before: State | None, *, listed: Sequence[SourceFile], band: int
) -> dict[str, Any]:
    """Return the state when ``chosen`` of the files ``listed`` were read after ``before``."""
    paths = {file.path for file in chosen}
    roots: dict[str, Any] = dict((before or {}).get(_ROOTS, {}))
    for root in dict.fromkeys(file.root for file in chosen):
        below = [file for file in listed if file.root == root]
        read_files = [file for file in below if file.path in paths or seen(file, before)]
        key = _digest(root)
        roots[key] = _root_state(read_files, below, roots.get(key, {}), band=band)
    return {_ROOTS: roots}


def _root_state(
    read_files: Sequence[SourceFile], below: Sequence[SourceFile], before: Mapping[str, Any], *, band: int
) -> Mapping[str, Any]:
    high = max(before.get(_HIGH, 0), *(file.modified for file in read_files))
    read = {file.path for file in read_files}
    # A file that a bound left out must not count as read: the band reaches to it.
    unread_times = [file.modified for file in below if file.modified <= high and file.path not in read]
    wide = max(band, (high - min(unread_times)) // 1000 + 1) if unread_times else band
    # What this listing lacks stays known, too.
    marks = {**before.get(_FILES, {}), **{_mark(file): file.modified for file in read_files}}
    recent = {mark: moment for mark, moment in marks.items() if moment > high - wide * 1000}
    return {_HIGH: high, _BAND: wide, _FILES: recent}


def _mark(file: SourceFile) -> str:
    return _digest(f"{file.path}\0{file.modified}")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
