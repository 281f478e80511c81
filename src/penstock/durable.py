"""Writes files durably: when a call returns, the file is on the disk, complete or not at all.

A rename alone is not enough. After a power loss the file of the new name can be empty, because its content was still in
memory, or the old name can be back, because the folder's entry was (fsync(2): a file's entry in its folder needs an fsync
of the folder). The steps are: write a file beside it, sync the file, rename, sync the folder.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from penstock.errors import StorageFull

try:
    # On macOS, fsync does not flush the drive's cache, and this does (fcntl(2)).
    from fcntl import F_FULLFSYNC, fcntl  # type: ignore[attr-defined,unused-ignore]
except ImportError:
    F_FULLFSYNC = None

__all__ = ["PRIVATE_UMASK", "full_disk", "make_folder", "remove", "replace", "sync", "sync_file", "writing"]

PRIVATE_UMASK = 0o077
"""The umask of every process that Penstock starts: only the owner can read its files."""
_PRIVATE = 0o600
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


def full_disk(error: BaseException) -> StorageFull | None:
    """Return the error to raise if ``error`` means that a disk accepts no writes; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    where = f"{error.filename} " if error.filename else "A file "
    return StorageFull(f"{where}cannot be written: {error.strerror}.", remedy="Free some space on the server's disk.")


def sync_file(descriptor: int) -> None:
    """Return once the file of ``descriptor`` is on the disk. Raises ``OSError``."""
    if F_FULLFSYNC is not None:
        with contextlib.suppress(OSError):  # not all file systems have it
            fcntl(descriptor, F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync(path: Path | str) -> None:
    """Return once the content of a file, or the entries of a folder, are on the disk. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path, *, mode: int | None = None) -> None:
    """Create a folder and its missing parents, and sync the entries. Raises ``OSError``.

    Each has ``mode`` whatever the process's umask is, because other users may have to read it; without a mode, the umask
    decides.
    """
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for item in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            item.mkdir(mode=0o777 if mode is None else mode)
            if mode is not None:
                item.chmod(mode)
        sync(item.parent)


def replace(source: Path, target: Path) -> None:
    """Rename a complete file over ``target``, durably. Raises ``OSError``; ``source`` then stays."""
    sync(source)
    source.replace(target)
    sync(target.parent)


def remove(paths: Iterable[Path]) -> None:
    """Remove files, if they exist, and sync their folders. Raises ``OSError``."""
    folders: dict[Path, None] = {}
    for path in paths:
        path.unlink(missing_ok=True)
        folders[path.parent] = None
    for folder in folders:
        sync(folder)


@contextmanager
def writing(path: Path, *, mode: int = _PRIVATE, new: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file to write: after the block it is at ``path``, on the disk; after an error nothing has changed there.

    It has ``mode`` from the start. With ``new`` it replaces nothing: ``FileExistsError`` if the file exists by then.
    ``OSError`` names ``path`` if it cannot be written.
    """
    scratch: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
        scratch = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode != _PRIVATE:
                os.fchmod(file.fileno(), mode)
            sync_file(file.fileno())
        if new:
            os.link(scratch, path)
        else:
            scratch.replace(path)
            scratch = None
        sync(path.parent)
    except OSError as error:
        # The error of a full disk names no file or the scratch file.
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        if scratch is not None:
            with contextlib.suppress(OSError):
                scratch.unlink()
