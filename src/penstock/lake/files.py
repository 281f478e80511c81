"""The port of the file operations that a commit needs, and its in-memory implementation for tests and dry runs.

Paths are absolute names with slashes (``s3://BUCKET/key``, ``/folder/file``); a folder exists if it has a file.
"""

from collections.abc import Callable, Collection, Iterable
from typing import IO, Protocol

__all__ = ["FileSystem", "MemoryFiles", "Uploads"]


class FileSystem(Protocol):
    """The file operations of a commit. Each is atomic, as far as the file system allows."""

    def names(self, folder: str) -> list[str]:
        """Return the names (not paths) of files and folders directly in ``folder``, sorted; empty if it does not exist."""
        ...

    def walk(self, folder: str) -> dict[str, int]:
        """Return paths and sizes in bytes of all files below ``folder``, sorted; empty if it does not exist."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        ...

    def read(self, path: str) -> bytes:
        """Return a small file's bytes. Raises ``FileNotFoundError`` if it is missing."""
        ...

    def tail(self, path: str, size: int) -> bytes:
        """Return the last ``size`` bytes of a file, all of a shorter one. Raises ``FileNotFoundError`` if it is missing."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a small file atomically; it is on the disk when this returns."""
        ...

    def move(self, source: str, target: str) -> None:
        """Rename a file; create its folders and replace an existing target. Raises ``FileNotFoundError`` without a source.

        The rename is on the disk after a :meth:`sync` of the target's folder.
        """
        ...

    def delete(self, path: str) -> None:
        """Remove a file or a whole folder, if it exists."""
        ...

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """Write files to the disk: content, entries in their folders, and those of the folders under ``below``.

        A folder among ``paths`` stands for its entries; missing paths are skipped.
        """
        ...


class Uploads(Protocol):
    """What a file system without rename has besides: files that are sent to their final path and not visible there yet."""

    def upload(self, body: IO[bytes], target: str, record: str) -> None:
        """Send a file. It is visible at ``target`` when ``record``, a small file, was moved there."""
        ...

    def abort_uploads(self, below: str, *, of: Callable[[str], bool], keep: Collection[str]) -> None:
        """Remove what was sent for files below a folder whose names ``of`` accepts, unless a record in ``keep`` is of it."""
        ...


class MemoryFiles:
    """A file system in a dictionary, which needs no sync. ``before`` gets the name of each change before it happens."""

    def __init__(self, before: Callable[[str], None] = lambda _: None) -> None:
        self.files: dict[str, bytes] = {}
        self._before = before

    def names(self, folder: str) -> list[str]:
        """See :class:`FileSystem`."""
        prefix = folder.rstrip("/") + "/"
        return sorted({path[len(prefix) :].partition("/")[0] for path in self.files if path.startswith(prefix)})

    def walk(self, folder: str) -> dict[str, int]:
        """See :class:`FileSystem`."""
        prefix = folder.rstrip("/") + "/"
        return {path: len(data) for path, data in sorted(self.files.items()) if path.startswith(prefix)}

    def exists(self, path: str) -> bool:
        """See :class:`FileSystem`."""
        return path in self.files or bool(self.names(path))

    def read(self, path: str) -> bytes:
        """See :class:`FileSystem`."""
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def tail(self, path: str, size: int) -> bytes:
        """See :class:`FileSystem`."""
        return self.read(path)[-size:]

    def write(self, path: str, data: bytes) -> None:
        """See :class:`FileSystem`."""
        self._before("write")
        self.files[path] = data

    def move(self, source: str, target: str) -> None:
        """See :class:`FileSystem`."""
        self._before("move")
        if source not in self.files:
            raise FileNotFoundError(source)
        self.files[target] = self.files.pop(source)

    def delete(self, path: str) -> None:
        """See :class:`FileSystem`; a folder is deleted file by file, and a crash can come between two."""
        for node in [path, *self.walk(path)]:
            if node in self.files:
                self._before("delete")
                del self.files[node]

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`FileSystem`."""
