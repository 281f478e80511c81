"""Names of the lake: ``s3://BUCKET/key`` to the folder behind it, and back.

The embedded lake is a folder in which each bucket is a sub-folder; the S3 endpoint, Spark (through Hadoop's viewfs) and
the SQL engine see the same objects under the same ``s3://`` names.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.errors import InvalidInput

__all__ = ["SCHEMES", "LakeFolder", "LakePaths", "ObjectUri", "is_below", "parse_uri"]

SCHEMES = ("s3://", "s3a://", "s3n://")
"""How a location in S3 begins: the second and third are Hadoop's."""
_MAX_KEY = 1_024  # bytes, S3's bound
_MAX_NAME = 255  # bytes between two slashes, the limit of file systems


@dataclass(frozen=True, slots=True)
class ObjectUri:
    """A bucket and a key; the key has no leading slash and may be empty."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def parse_uri(uri: str) -> ObjectUri:
    """Split ``s3://bucket/key`` (also ``s3a``, ``s3n``). Raises :class:`InvalidInput` for anything else and for ``..``.

    The key is the one spelling of its file: ``a//b`` and ``a/./b``, which a file system takes for ``a/b``, become that, so
    that permissions are asked for the file that is opened. A slash at the end stays. No bucket's name begins with a dot,
    because the S3 endpoint's uploads in progress are beside the buckets.
    """
    for scheme in SCHEMES:
        if uri.startswith(scheme):
            bucket, _, key = uri[len(scheme) :].partition("/")
            break
    else:
        raise InvalidInput(f"'{uri[:200]}' is not an S3 location.", remedy="Write it as s3://BUCKET/KEY.")
    if not bucket or bucket.startswith(".") or key.startswith("/") or ".." in key.split("/") or "\0" in uri:
        raise InvalidInput(
            f"'{uri[:200]}' is not a usable S3 location: it has no bucket, a '..' in its key, or two slashes before that."
        )
    if "//" in key or key.startswith("./") or "/./" in key or key.endswith("/.") or key == ".":
        names = [name for name in key.split("/") if name not in {"", "."}]
        key = "/".join(names) + ("/" if names and key.endswith(("/", "/.")) else "")
    return ObjectUri(bucket, key)


def is_below(location: str, folder: str) -> bool:
    """Return whether a location is ``folder`` or below it; both are spelled alike, but for a last slash."""
    home = folder.rstrip("/")
    return location.rstrip("/") == home or location.startswith(f"{home}/")


class LakePaths(Protocol):
    """From ``s3://`` names to paths: the lake's folder, or what of it somebody may open.

    :meth:`readable` and :meth:`listable` raise an error for a file that may not be opened, a folder that may not be listed.
    """

    @property
    def root(self) -> Path:
        """The folder of the buckets."""
        ...

    def path(self, uri: str, /) -> Path:
        """The path of ``uri``, which is only named. Raises :class:`InvalidInput`."""
        ...

    def readable(self, uri: str, /) -> Path:
        """The path of a file that is about to be opened."""
        ...

    def listable(self, uri: str, /) -> Path:
        """The path of a folder whose files are about to be listed."""
        ...

    def check_bucket(self, uri: str, /) -> Path:
        """As :meth:`LakeFolder.check_bucket`."""
        ...


@dataclass(frozen=True, slots=True)
class LakeFolder:
    """The folder of the buckets. It is absolute, and no name resolves outside it."""

    root: Path

    def path(self, uri: str) -> Path:
        """Return the path of ``uri``. Raises :class:`InvalidInput` if a link leads outside or a name is too long."""
        where = parse_uri(uri)
        names = (where.bucket, *where.key.split("/"))
        if len(where.key.encode()) > _MAX_KEY or any(len(name.encode()) > _MAX_NAME for name in names):
            raise InvalidInput(
                f"{uri[:200]}... is too long.",
                remedy=f"A key has up to {_MAX_KEY:,} bytes, and a name between its slashes up to {_MAX_NAME}.",
            )
        root = self.root.resolve()
        try:
            path = (root / where.bucket / where.key).resolve()
        except (OSError, RuntimeError):
            # Python raises one or the other for a link that leads to itself.
            raise InvalidInput(f"{uri} cannot be followed.", remedy="Remove the link that leads to itself.") from None
        if not path.is_relative_to(root / where.bucket):
            raise InvalidInput(f"{uri} leads outside the lake.", remedy="Remove the symbolic link in its bucket's folder.")
        return path

    readable = listable = path

    def check_bucket(self, uri: str, *, remedy: str = "Create it, or choose another location.") -> Path:
        """Return :meth:`path` of ``uri``. Raises its errors, and :class:`InvalidInput` if the bucket is missing."""
        path = self.path(uri)
        if not (self.root / parse_uri(uri).bucket).is_dir():
            raise InvalidInput(f"The bucket of {uri[:200]} does not exist.", remedy=remedy)
        return path

    def uri(self, path: Path) -> str:
        """Return the ``s3://`` name of a file inside the lake."""
        bucket, *key = path.resolve().relative_to(self.root.resolve()).parts
        return str(ObjectUri(bucket, "/".join(key)))
