"""The few file operations a commit needs, as a port, and the in-memory one that tests and dry runs use.

Paths are absolute names with slashes (``s3://BUCKET/key``, ``/folder/file``); a folder exists because a file lies in it.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

__all__ = ["FileSystem", "MemoryFiles"]


class FileSystem(Protocol):
    """What a commit asks of a file system. Each operation is whole or not at all, as far as a file system can be."""

    def names(self, folder: str) -> list[str]:
        """Names (not paths) of the files and folders directly in ``folder``, sorted; empty where there is none."""
        ...

    def walk(self, folder: str) -> dict[str, int]:
        """Paths and sizes in bytes of all files below ``folder``, sorted; empty where there is none."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        ...

    def read(self, path: str) -> bytes:
        """A small file's bytes; ``FileNotFoundError`` where it is missing."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a small file so that readers see all of it or nothing, on the disk when this returns; replaces one there."""
        ...

    def move(self, source: str, target: str) -> None:
        """Rename a file, folders made as needed, over one that is there; ``FileNotFoundError`` without a source.

        The renaming is on the disk once the target's folder is (:meth:`sync`).
        """
        ...

    def delete(self, path: str) -> None:
        """Remove a file or a whole folder; nothing where it is missing."""
        ...

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """Return once files are on the disk: content, entries in their folders, and those of the folders under ``below``.

        A folder among ``paths`` stands for its entries; what is missing is passed over.
        """
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
        """See :class:`FileSystem`; a folder goes file by file, and a crash can come between two."""
        for each in [path, *self.walk(path)]:
            if each in self.files:
                self._before("delete")
                del self.files[each]

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`FileSystem`."""
