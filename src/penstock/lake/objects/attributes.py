"""The attributes of an object, stored with its file: headers, user metadata, tags, checksums, sizes of parts.

One extended attribute has all of them as JSON; if a file has none, the attributes of s3proxy are read, which served the
lake before. A file that another program overwrites in place loses its attributes.
"""

import contextlib
import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from penstock.lake.etags import current_etag, get_attribute, remove_attribute, set_attribute, set_etag, stamp_of, was_hashed
from penstock.lake.objects.errors import S3Error

__all__ = ["MARKER_ETAG", "Attributes", "ObjectInfo", "is_marker", "keep", "read_info", "write_tags"]

_PREFIX = "user.user." if os.uname().sysname == "Linux" else "user."
_OURS = f"{_PREFIX}penstock-object"
_MARKER = f"{_PREFIX}content-md5"
_FORMER_HEADERS = ("cache-control", "content-disposition", "content-encoding", "content-language", "content-type")
_FORMER_METADATA = "user-metadata."
# s3proxy stored these among the user's metadata for its own use, and did not return them.
_FORMER_OWN = "s3proxy_checksum_"
MARKER_ETAG = bytes.fromhex("d41d8cd98f00b204e9800998ecf8427e")
"""MD5 of no bytes: the ETag of an object whose key ends in a slash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """``headers`` by their names in lower case, such as ``content-type``; ``checksums`` by algorithm, in base64.

    ``parts`` are runs of sizes: ``(5242880, 3)`` is three parts of 5 MiB.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    checksum_type: str = "FULL_OBJECT"
    parts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """The current state of an object. ``size`` in bytes, ``modified`` in seconds since 1970, ``etag`` with its quotes."""

    key: str
    size: int
    modified: float
    etag: str
    attributes: Attributes = field(default_factory=Attributes)


def read_info(
    key: str, path: Path, status: os.stat_result, *, whole: bool = True, descriptor: int | None = None
) -> ObjectInfo:
    """Return the state of the object at ``path``; without ``whole``, only the members of a listing.

    With a ``descriptor``, read that open file, which another one may have replaced at ``path`` since.
    """
    if key.endswith("/"):
        attributes = _read(path, "") if whole else Attributes()
        return ObjectInfo(key=key, size=0, modified=status.st_mtime, etag=f'"{MARKER_ETAG.hex()}"', attributes=attributes)
    etag = current_etag(path, status, descriptor)
    attributes = _read(path if descriptor is None else descriptor, stamp_of(status)) if whole else Attributes()
    return ObjectInfo(key=key, size=status.st_size, modified=status.st_mtime, etag=etag, attributes=attributes)


def is_marker(folder: Path) -> bool:
    """Return whether the folder is an object, by a put of its name with a slash."""
    return folder.is_dir() and get_attribute(folder, _MARKER) is not None


def keep(path: Path, attributes: Attributes, etag: bytes) -> None:
    """Store attributes and ETag with the current state of a file or, with :data:`MARKER_ETAG`, a folder.

    On a file system without extended attributes, nothing is stored: an object has only its bytes.
    """
    kept = {name: value for name, value in asdict(attributes).items() if value}
    folder = path.is_dir()
    kept["of"] = "" if folder else stamp_of(path.stat())
    text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode()
    try:
        set_attribute(path, _OURS, text)
        if folder:
            set_attribute(path, _MARKER, etag)
        else:
            set_etag(path, etag)
    except OSError as error:
        if error.errno in {errno.ENOTSUP, errno.EPERM}:
            return
        if error.errno in {errno.ENOSPC, errno.E2BIG, errno.ERANGE}:
            raise S3Error(
                "MetadataTooLarge",
                "Your metadata headers exceed the maximum allowed metadata size",
                remedy="The lake's file system has less room for attributes than S3: send less metadata and tags.",
            ) from None
        raise


def unmark(folder: Path) -> None:
    """Remove the attribute that makes a folder an object."""
    for name in (_MARKER, _OURS):
        remove_attribute(folder, name)


def write_tags(path: Path, tags: Mapping[str, str], etag: bytes) -> None:
    """Replace the tags of the file; ``etag`` is its current one."""
    status = path.stat()
    keep(path, replace(_read(path, "" if path.is_dir() else stamp_of(status)), tags=dict(tags)), etag)


def _read(path: Path | int, stamp: str) -> Attributes:
    """Return the attributes of a file in the state ``stamp``; none if they were stored with another state."""
    raw = get_attribute(path, _OURS)
    if raw is None:
        return Attributes() if was_hashed(path) else _read_former(path)
    with contextlib.suppress(ValueError, TypeError):
        kept = json.loads(raw)
        if kept.pop("of", "") != stamp:
            return Attributes()
        kept["parts"] = tuple((int(size), int(count)) for size, count in kept.get("parts", ()))
        return Attributes(**kept)
    return Attributes()


def _read_former(path: Path | int) -> Attributes:
    try:
        names = os.listxattr(path)
    except (OSError, AttributeError):
        return Attributes()
    headers, metadata = {}, {}
    for name in names:
        if not name.startswith(_PREFIX):
            continue
        value = (get_attribute(path, name) or b"").decode(errors="replace")
        short = name.removeprefix(_PREFIX)
        if short in _FORMER_HEADERS:
            headers[short] = value
        elif short.startswith(_FORMER_METADATA) and _FORMER_OWN not in short:
            metadata[short.removeprefix(_FORMER_METADATA)] = value
    return Attributes(headers=headers, metadata=metadata)
