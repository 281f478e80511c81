"""ETags for lake files that did not come through the S3 gateway.

The gateway (s3proxy's filesystem-nio2 store) keeps an object's ETag in the extended attribute ``content-md5``: sixteen
raw bytes of MD5, or quoted text for a multipart upload. A file that Spark or DuckDB wrote has none, and listings then
leave the ETag out, on which clients stumble. Whoever writes to the lake's folder calls :func:`tag_file` afterwards;
:func:`tag_tree` does it for what others left there.

A second attribute remembers the size and time of the file that was hashed, because a file written over in place keeps
its attributes.
"""

import contextlib
import ctypes
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["etag", "tag_file", "tag_tree"]

# Java's user-defined attributes live in Linux's user namespace; s3proxy's own names begin with user. as well.
_PREFIX = "user." if sys.platform == "linux" else ""
_ETAG = f"{_PREFIX}user.content-md5"
_HASHED = f"{_PREFIX}user.penstock-hashed"
# Multipart uploads in progress, and puts before their rename ends, belong to the gateway.
_GATEWAY_PREFIXES = (".mpus-", ".s3proxy-")


def etag(path: Path) -> str | None:
    """The ETag that the gateway gives the file, quoted; None where it has none."""
    raw = _get(path, _ETAG)
    if raw is None:
        return None
    return f'"{raw.hex()}"' if len(raw) == 16 else raw.decode("ascii", errors="replace")


def tag_file(path: Path) -> bool:
    """Give the file its MD5 as ETag, unless the one it has is right; whether it was changed.

    A file system without extended attributes, and a file that is gone or changes meanwhile, are no errors: the file
    then has no ETag, as before.
    """
    try:
        before = path.stat()
        stamp = f"{before.st_size}:{before.st_mtime_ns}".encode()
        hashed = _get(path, _HASHED)
        has_tag = _get(path, _ETAG) is not None
        if has_tag and hashed in {None, stamp}:
            return False
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).digest()
        after = path.stat()
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            return False
        _set(path, _HASHED, stamp)
        _set(path, _ETAG, digest)
    except OSError:
        return False
    return True


def tag_tree(folder: Path, *, settled_before: float | None = None) -> int:
    """Tag every file under ``folder``; the number of files that were changed.

    ``settled_before`` (seconds since the epoch) leaves out files written after it, which may still be growing.
    """
    return sum(tag_file(path) for path in _files(folder, settled_before))


def _files(folder: Path, settled_before: float | None) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_GATEWAY_PREFIXES):
                continue
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path), settled_before)
                elif entry.is_file(follow_symlinks=False) and (
                    settled_before is None or entry.stat(follow_symlinks=False).st_mtime < settled_before
                ):
                    yield Path(entry.path)


if sys.platform == "darwin":
    _libc = ctypes.CDLL(None, use_errno=True)

    def _get(path: Path, name: str) -> bytes | None:
        buffer = ctypes.create_string_buffer(1024)
        size = _libc.getxattr(os.fsencode(path), name.encode(), buffer, len(buffer), 0, 0)
        return buffer.raw[:size] if size >= 0 else None

    def _set(path: Path, name: str, value: bytes) -> None:
        if _libc.setxattr(os.fsencode(path), name.encode(), value, len(value), 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))

else:

    def _get(path: Path, name: str) -> bytes | None:
        try:
            return os.getxattr(path, name)
        except OSError:
            return None

    def _set(path: Path, name: str, value: bytes) -> None:
        os.setxattr(path, name, value)
