"""Names of buckets and keys, and the file of a key.

A key is a path below its bucket's folder; a key that ends in a slash is a folder that is an object. A key that cannot be
a file's path is refused. S3 accepts more, such as ``a//b``, which a file system does not distinguish from ``a/b``.
"""

import os
import re
from pathlib import Path

from penstock.lake.objects.errors import S3Error

__all__ = ["MAX_KEY_BYTES", "WORK_FOLDER", "check_bucket_name", "check_key", "file_of", "is_hidden"]

MAX_KEY_BYTES = 1_024
WORK_FOLDER = ".penstock-s3"
"""The folder of drafts, uploads in progress and policies, beside the buckets; its name is not a valid bucket name."""
_MAX_NAME_BYTES = 255  # between two slashes, the limit of file systems
# Amazon S3 user guide, "General purpose bucket naming rules".
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
# Names that s3proxy gave to uploads and puts in progress.
_HIDDEN = (".mpus-", ".s3proxy-")
# XML cannot represent these, so that no listing could return them.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def check_bucket_name(name: str) -> None:
    """Raise :class:`S3Error` unless ``name`` is a valid bucket name."""
    if _BUCKET.fullmatch(name) is None or ".." in name or _ADDRESS.fullmatch(name):
        raise S3Error(
            "InvalidBucketName",
            "The specified bucket is not valid.",
            remedy="A bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens, and is not an IP address.",
            details={"BucketName": name[:100]},
        )


def check_key(key: str) -> None:
    """Raise :class:`S3Error` unless ``key`` can name a file or, with a slash at its end, a folder."""
    if not key:
        raise S3Error("InvalidArgument", "A key has at least one character.")
    if len(key.encode(errors="surrogatepass")) > MAX_KEY_BYTES:
        raise S3Error("KeyTooLongError", "Your key is too long", remedy=f"A key has up to {MAX_KEY_BYTES:,} bytes in UTF-8.")
    if _UNWRITABLE.search(key):
        raise S3Error("InvalidArgument", "The key has a control character, which this store does not accept.")
    for name in key.removesuffix("/").split("/"):
        if name in {"", ".", ".."}:
            raise S3Error(
                "InvalidArgument",
                f"The key '{key[:200]}' has the part '{name}' between two slashes, which is not a file name.",
                remedy="Objects are files in this store: leave out doubled slashes, '.' and '..'.",
            )
        if len(name.encode()) > _MAX_NAME_BYTES:
            raise S3Error(
                "KeyTooLongError",
                "Your key is too long",
                remedy=f"Between two slashes a key has up to {_MAX_NAME_BYTES} bytes, the limit of file systems.",
            )
        if is_hidden(name):
            raise S3Error("InvalidArgument", f"Names that begin with {' or '.join(_HIDDEN)} are reserved.")


def is_hidden(name: str) -> bool:
    """Return whether a file or folder with that name is never an object."""
    return name.startswith(_HIDDEN)


def file_of(bucket: Path, key: str) -> Path | None:
    """Return the path of a key that :func:`check_key` accepted; None if a symbolic link is on the way to it.

    ``bucket`` is an absolute path without links.
    """
    path = os.path.join(bucket, key.removesuffix("/"))  # noqa: PTH118 -- Path would take most of a small request's time
    return Path(path) if os.path.realpath(path) == path else None
