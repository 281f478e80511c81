"""The keys of a bucket in S3's order, read from only those folders that a page needs.

S3 sorts keys by their bytes in UTF-8, which is the order of Python's texts. A folder sorts as its name with a slash: the
file ``a.txt`` comes before the files in ``a/``.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.lake.objects.attributes import ObjectInfo, is_marker, read_info
from penstock.lake.objects.names import MAX_KEY_BYTES, is_hidden

__all__ = ["LAST", "Page", "list_page", "walk"]

LAST = "\U0010ffff"
"""Sorts after every character of a key: ``prefix + LAST`` is after all keys that begin with the prefix."""


@dataclass(slots=True, kw_only=True)
class Page:
    """A page of a listing. The next page begins after ``next_after``, which is None for the last page."""

    objects: list[ObjectInfo] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    next_after: str | None = None


def list_page(bucket: Path, *, prefix: str, delimiter: str, after: str, limit: int) -> Page:
    """Return up to ``limit`` keys and common prefixes after ``after``, in order."""
    page = Page()
    if limit == 0:
        return page
    last = after
    for key, path in walk(bucket, prefix=prefix, delimiter=delimiter, after=after):
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        common = key[: cut + len(delimiter)] if cut >= 0 else None
        if common is not None and page.prefixes and page.prefixes[-1] == common:
            continue
        if common is not None and after.startswith(common) and after.endswith(LAST):
            continue
        if len(page.objects) + len(page.prefixes) == limit:
            page.next_after = last
            return page
        if common is not None:
            page.prefixes.append(common)
            last = common + LAST
            continue
        try:
            page.objects.append(read_info(key, path, path.stat(follow_symlinks=False), whole=False))
        except FileNotFoundError:
            continue
        last = key
    return page


def walk(bucket: Path, *, prefix: str = "", delimiter: str = "", after: str = "") -> Iterator[tuple[str, Path]]:
    """Yield the keys that begin with ``prefix`` and sort after ``after``, with their paths.

    With the delimiter ``/`` one key stands for each folder below the prefix's own. Symbolic links are not followed.
    """
    base = prefix[: prefix.rfind("/") + 1]
    folder = os.path.join(bucket, base)  # noqa: PTH118 -- see names.file_of
    if any(name in {"", ".", ".."} for name in base.split("/")[:-1]) or "\0" in base:
        return
    try:
        if os.path.realpath(folder) != folder.rstrip("/"):
            return
    except OSError:
        return
    yield from _Walk(prefix, delimiter == "/", after).below(folder, base)


@dataclass(frozen=True, slots=True)
class _Walk:
    prefix: str
    grouped: bool
    after: str

    def below(self, folder: str, base: str) -> Iterator[tuple[str, Path]]:
        """Yield the keys in ``folder``, which begin with ``base``: first the folder itself, if it is an object."""
        if base and base > self.after and base.startswith(self.prefix) and is_marker(Path(folder)):
            yield base, Path(folder)
        for name in _names(folder):
            key = base + name
            path = os.path.join(folder, name)  # noqa: PTH118
            if not name.endswith("/"):
                if key > self.after and key.startswith(self.prefix):
                    yield key, Path(path)
            elif (key > self.after or self.after.startswith(key)) and self._meets_prefix(key):
                if self.grouped and key.startswith(self.prefix) and len(key) > len(self.prefix):
                    if self.after != key + LAST:
                        # One key is enough for the common prefix.
                        yield from _first(_Walk(self.prefix, False, self.after).any_below(path, key))
                else:
                    yield from self.below(path, key)

    def any_below(self, folder: str, base: str) -> Iterator[tuple[str, Path]]:
        """Yield keys as :meth:`below` does, in any order if that is quicker."""
        if self.after.startswith(base):
            yield from self.below(folder, base)
        elif is_marker(Path(folder)):
            yield base, Path(folder)
        else:
            names = _names(folder)
            names.sort(key=lambda name: name.endswith("/"))
            for name in names:
                key, path = base + name, os.path.join(folder, name)  # noqa: PTH118
                if name.endswith("/"):
                    yield from self.any_below(path, key)
                else:
                    yield key, Path(path)

    def _meets_prefix(self, key: str) -> bool:
        return key.startswith(self.prefix) or self.prefix.startswith(key)


def _first(keys: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    for key in keys:
        yield key
        return


def _names(folder: str) -> list[str]:
    """Return the names in a folder, sorted as keys; folders end in a slash. Empty if it is gone or cannot be read."""
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if is_hidden(name) or not _is_text(name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    names.append(name + "/")
                elif entry.is_file(follow_symlinks=False):
                    names.append(name)
    except OSError:
        return []
    names.sort()
    return names if len(folder) < MAX_KEY_BYTES * 8 else []


def _is_text(name: str) -> bool:
    # A name that is not UTF-8, or that XML cannot represent, is not a key: see names.check_key.
    return name.isprintable() or not any(
        c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff" for c in name
    )
