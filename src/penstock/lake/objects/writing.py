"""Writing objects: a draft outside the listings, then one rename.

A draft is synced to the disk before it gets its name, and the folder is synced afterwards: an acknowledged object exists
after a crash, and a partial one is never visible.
"""

import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock import durable
from penstock.lake.objects.attributes import is_marker
from penstock.lake.objects.errors import S3Error

__all__ = ["Draft", "disk_full", "place", "prune"]

_COPY_BYTES = 8 * 1024 * 1024
_TRIES = 10
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Draft:
    """A file that is being written; as a context manager, it is removed at the end unless it was placed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / secrets.token_hex(16)
        self.size = 0
        self.md5 = hashlib.md5(usedforsecurity=False)
        with disk_full():
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes, and hash them."""
        self.md5.update(data)
        self._append(data)

    def append_file(self, source: int, *, start: int = 0, length: int, hashed: bool) -> None:
        """Append ``length`` bytes of an open file; the kernel copies them unless they are ``hashed``."""
        end = start + length
        while start < end:
            wanted = min(_COPY_BYTES, end - start)
            if hashed or not hasattr(os, "copy_file_range"):
                data = os.pread(source, wanted, start)
                self.write(data) if hashed else self._append(data)
                copied = len(data)
            else:
                with disk_full():
                    copied = os.copy_file_range(source, self._descriptor, wanted, start, self.size)
                self.size += copied
                os.lseek(self._descriptor, self.size, os.SEEK_SET)
            if copied == 0:
                raise S3Error("InternalError", "The file became shorter while it was copied.", remedy="Try again.")
            start += copied

    def blocks(self) -> Iterator[bytes]:
        """Yield the written bytes, in blocks."""
        offset = 0
        while data := os.pread(self._descriptor, _COPY_BYTES, offset):
            offset += len(data)
            yield data

    def sync(self) -> None:
        """Write the bytes to the disk."""
        with disk_full():
            durable.sync_file(self._descriptor)

    def _append(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        with disk_full():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        self.size += len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove it if it still has its first name."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            with contextlib.suppress(OSError):
                self.path.unlink()


@contextlib.contextmanager
def disk_full() -> Iterator[None]:
    """Raise :class:`S3Error` if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise S3Error(
                "InsufficientStorage", "The disk of the lake is full.", remedy="Free some space, then try again."
            ) from error
        raise


def place(draft: Path, bucket: Path, target: Path, *, exclusive: bool) -> None:
    """Rename a synced file to its final path, with its folders; replace an existing file unless ``exclusive``.

    Raises ``FileExistsError`` if it exists and ``exclusive`` is set, and :class:`S3Error` if a file is in the place of a
    folder or the other way round.
    """
    for _ in range(_TRIES):
        folders = _make_folders(bucket, target.parent)
        try:
            if exclusive:
                os.link(draft, target)
                draft.unlink()
            else:
                draft.replace(target)
        except FileNotFoundError:
            # Another caller removed the empty folder.
            continue
        except (IsADirectoryError, FileExistsError):
            if target.is_dir() and not target.is_symlink():
                _clear(target)
                continue
            raise
        for folder in (target.parent, *folders):
            _sync_folder(folder)
        return
    raise S3Error("SlowDown", "Other requests keep removing the folders of the key.", remedy="Try again.")


def make_marker(bucket: Path, folder: Path) -> None:
    """Create the folder of a key that ends in a slash."""
    for created in (folder, *_make_folders(bucket, folder)):
        _sync_folder(created)


def prune(bucket: Path, folder: Path) -> Path:
    """Remove ``folder`` and its parents while they are empty and not objects, because S3 has no empty folders.

    Return the first folder that is left, whose entries have changed.
    """
    while folder != bucket and not is_marker(folder):
        try:
            folder.rmdir()
        except OSError:
            break
        folder = folder.parent
    return folder


def _make_folders(bucket: Path, folder: Path) -> list[Path]:
    """Create the folder and its parents; return the folders with a new entry."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
        if not folder.is_relative_to(bucket):
            raise S3Error("NoSuchBucket", "The specified bucket does not exist", details={"BucketName": bucket.name})
    changed = []
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
            changed.append(path.parent)
        except FileExistsError:
            if not path.is_dir():
                raise conflict(
                    f"{path.relative_to(bucket)}", "an object, so that no key can begin with its name and a slash"
                ) from None
        except FileNotFoundError:
            break
        except NotADirectoryError:
            raise conflict(
                f"{path.parent.relative_to(bucket)}", "an object, so that no key can begin with its name and a slash"
            ) from None
    return changed


def _clear(folder: Path) -> None:
    """Remove an empty folder, for an object of its name."""
    try:
        if is_marker(folder):
            raise OSError(errno.ENOTEMPTY, "is an object")
        folder.rmdir()
    except OSError:
        raise conflict(folder.name, "a folder with objects in it, so that no object can have its name") from None


def conflict(name: str, what: str) -> S3Error:
    """Return the error for a key that is a file where others need a folder, or the other way round."""
    return S3Error(
        "InvalidRequest",
        f"'{name[:200]}' is {what}: objects are files in this store.",
        remedy="Choose another key, or delete the conflicting object.",
    )


def _sync_folder(folder: Path) -> None:
    # Another caller removed it with its contents.
    with contextlib.suppress(FileNotFoundError), disk_full():
        durable.sync(folder)
