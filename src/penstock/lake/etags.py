"""ETags of the lake's files, of any writer.

An ETag is stored in the extended attribute ``content-md5``: sixteen raw bytes of MD5, or quoted text for a multipart
upload (the format of s3proxy, which served the lake before). A file that Spark or DuckDB wrote has none until the first
request for it. Then a small file gets its MD5, and a large one an ETag of its status in the file system, so that no
listing has to read a table. Such an ETag has the form of a multipart upload's, which clients do not compare with the
bytes.

A second attribute has the size and time of the file that was hashed, because a file that is overwritten in place keeps
its attributes.
"""

import contextlib
import ctypes
import hashlib
import os
import sys
from pathlib import Path

__all__ = [
    "HASHED_BYTES",
    "current_etag",
    "etag",
    "get_attribute",
    "remove_attribute",
    "set_attribute",
    "set_etag",
    "stamp_of",
    "tag_file",
    "was_hashed",
]

HASHED_BYTES = 8 * 1024 * 1024
"""Up to this size a file's ETag is the MD5 of its bytes. boto3 uploads larger files in parts, whose ETag is another."""

# Java's user-defined attributes live in Linux's user namespace; s3proxy's own names begin with user. as well.
_PREFIX = "user." if sys.platform == "linux" else ""
_ETAG = f"{_PREFIX}user.content-md5"
_HASHED = f"{_PREFIX}user.penstock-hashed"
_MOST_BYTES = 64 * 1024


def etag(path: Path) -> str | None:
    """Return the ETag that is stored with the file, quoted, or None."""
    raw = get_attribute(path, _ETAG)
    return None if raw is None else _text(raw)


def current_etag(path: Path, status: os.stat_result, descriptor: int | None = None) -> str:
    """Return the ETag of the file with the current ``status``: the stored one, or a new one, which is stored if possible.

    Reads the file once if it is small and has no ETag. With the ``descriptor`` of an open file the ETag is that file's,
    even if another file has the name by now.
    """
    source = path if descriptor is None else descriptor
    for _ in range(2):
        raw = get_attribute(source, _ETAG)
        if raw is not None and get_attribute(source, _HASHED) in {None, stamp_of(status).encode()}:
            return _text(raw)
        if status.st_size > HASHED_BYTES or not tag_file(path):
            break
    return _derived(status)


def was_hashed(path: Path | int) -> bool:
    """Return whether :func:`tag_file` or :func:`set_etag` stored the file's ETag."""
    return get_attribute(path, _HASHED) is not None


def set_etag(path: Path, etag: bytes) -> None:
    """Store ``etag`` (16 bytes of MD5, or quoted text) with the file's current state. Raises ``OSError`` on failure."""
    set_attribute(path, _HASHED, stamp_of(path.stat()).encode())
    set_attribute(path, _ETAG, etag)


def _text(raw: bytes) -> str:
    return f'"{raw.hex()}"' if len(raw) == 16 else raw.decode("ascii", errors="replace")


def stamp_of(status: os.stat_result) -> str:
    """Return a text that changes when the file is written again."""
    return f"{status.st_size}:{status.st_mtime_ns}"


def _derived(status: os.stat_result) -> str:
    known = f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}".encode()
    parts = max(1, -(-status.st_size // HASHED_BYTES))
    return f'"{hashlib.md5(known, usedforsecurity=False).hexdigest()}-{parts}"'


def tag_file(path: Path) -> bool:
    """Store the file's MD5 as its ETag, unless the stored one is right; return whether it changed.

    A file system without extended attributes, and a file that is gone or changes meanwhile, are not errors: then the file
    has no ETag, as before.
    """
    try:
        before = path.stat()
        stamp = stamp_of(before).encode()
        hashed = get_attribute(path, _HASHED)
        has_tag = get_attribute(path, _ETAG) is not None
        if has_tag and hashed in {None, stamp}:
            return False
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).digest()
        after = path.stat()
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            return False
        set_attribute(path, _HASHED, stamp)
        set_attribute(path, _ETAG, digest)
    except OSError:
        return False
    return True


if sys.platform == "darwin":
    _libc = ctypes.CDLL(None, use_errno=True)

    def get_attribute(path: Path | int, name: str) -> bytes | None:
        buffer = ctypes.create_string_buffer(_MOST_BYTES)
        call, file = (_libc.fgetxattr, path) if isinstance(path, int) else (_libc.getxattr, os.fsencode(path))
        size = call(file, name.encode(), buffer, len(buffer), 0, 0)
        return buffer.raw[:size] if size >= 0 else None

    def set_attribute(path: Path, name: str, value: bytes) -> None:
        if _libc.setxattr(os.fsencode(path), name.encode(), value, len(value), 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))

    def remove_attribute(path: Path, name: str) -> None:
        _libc.removexattr(os.fsencode(path), name.encode(), 0)

else:

    def get_attribute(path: Path | int, name: str) -> bytes | None:
        try:
            return os.getxattr(path, name)
        except OSError:
            return None

    def set_attribute(path: Path, name: str, value: bytes) -> None:
        os.setxattr(path, name, value)

    def remove_attribute(path: Path, name: str) -> None:
        with contextlib.suppress(OSError):
            os.removexattr(path, name)
