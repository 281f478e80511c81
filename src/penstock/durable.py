"""Files that are on the disk when a call returns, whole or not there: how every file that is relied on is written.

A rename alone is not enough. After a power loss the new name can be there with nothing in it, because the file's content
was still in memory, or the old name, because the folder's entry was (fsync(2): a file's entry in its folder takes an fsync
of the folder's own). The steps are: write beside, sync the file, rename, sync the folder.
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
    # macOS: fsync leaves the drive's own cache alone (fcntl(2) there), and this does not.
    from fcntl import F_FULLFSYNC, fcntl  # type: ignore[attr-defined,unused-ignore]
except ImportError:
    F_FULLFSYNC = None

__all__ = ["PRIVATE_UMASK", "full_disk", "make_folder", "remove", "replace", "sync", "sync_file", "writing"]

PRIVATE_UMASK = 0o077
"""Of every process that Penstock starts: what it writes is for its owner alone."""
_PRIVATE = 0o600
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


def full_disk(error: BaseException) -> StorageFull | None:
    """What to tell where ``error`` says that a disk took no more; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    where = f"{error.filename} " if error.filename else "A file "
    return StorageFull(f"{where}cannot be written: {error.strerror}.", remedy="Free some space on the server's disk.")


def sync_file(descriptor: int) -> None:
    """Return once the file of ``descriptor`` is on the disk. Raises ``OSError``."""
    if F_FULLFSYNC is not None:
        with contextlib.suppress(OSError):  # file systems that lack it have fsync
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


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Make a folder and those above it that are missing, with ``mode``, and sync the entries. Raises ``OSError``."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # by another process, a moment ago
            each.mkdir(mode=mode)
        sync(each.parent)


def replace(source: Path, target: Path) -> None:
    """Rename a whole file over ``target``, on the disk when this returns. Raises ``OSError``; ``source`` then stays."""
    sync(source)
    source.replace(target)
    sync(target.parent)


def remove(paths: Iterable[Path]) -> None:
    """Remove files, those that are missing too, and sync the folders that they were in. Raises ``OSError``."""
    folders: dict[Path, None] = {}
    for path in paths:
        path.unlink(missing_ok=True)
        folders[path.parent] = None
    for folder in folders:
        sync(folder)


@contextmanager
def writing(path: Path, *, mode: int = _PRIVATE, new: bool = False) -> Iterator[IO[bytes]]:
    """A file to write: at the end of the block it is at ``path``, on the disk; after an error nothing has changed there.

    ``mode`` is its mode from the first byte on. With ``new`` it replaces nothing: ``FileExistsError`` where another one is
    there by then. ``OSError`` names ``path`` where it cannot be written.
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
        # A full disk has no name of its own, and the scratch file's says nothing to anybody.
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        if scratch is not None:
            with contextlib.suppress(OSError):
                scratch.unlink()
