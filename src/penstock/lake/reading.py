"""Small files of a lake, read without Spark: from the folders of its buckets, this machine's disk, or S3."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput
from penstock.lake.local_files import LocalFiles
from penstock.lake.locations import parse_uri

__all__ = ["LakeReader"]


class LakeReader:
    """The reading half of :class:`penstock.lake.files.FileSystem`; everything that writes raises :class:`InvalidInput`.

    ``lake`` is the folder of the embedded lake's buckets; without it ``s3://`` names are read with ``open_s3``, which
    returns boto3's client and is called when it is needed.
    """

    def __init__(self, lake: Path | None, open_s3: Callable[[], Any]) -> None:
        self._lake = lake
        self._open_s3 = open_s3
        self._client: Any = None
        self._local = LocalFiles()

    def _local_path(self, path: str) -> str | None:
        """Return the path on this machine; None for S3."""
        if path.startswith("file://"):
            return path.removeprefix("file://")
        if "://" not in path:
            return path
        if self._lake is None or not path.startswith("s3://"):
            return None
        uri = parse_uri(path)
        return str(self._lake.absolute() / uri.bucket / uri.key)

    def _remote(self, path: str) -> tuple[Any, str, str]:
        if not path.startswith(("s3://", "s3a://")):
            raise InvalidInput(f"{path} can be read by Spark only.", remedy="Leave --dry-run out.")
        if self._client is None:
            self._client = self._open_s3()
        uri = parse_uri("s3://" + path.partition("://")[2])
        return self._client, uri.bucket, uri.key

    def names(self, folder: str) -> list[str]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        local = self._local_path(folder)
        if local is not None:
            return self._local.names(local)
        client, bucket, key = self._remote(folder)
        prefix, names = f"{key.rstrip('/')}/", set[str]()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/"):
            names |= {content["Key"].removeprefix(prefix) for content in page.get("Contents", ())}
            names |= {
                common_prefix["Prefix"].removeprefix(prefix).rstrip("/") for common_prefix in page.get("CommonPrefixes", ())
            }
        return sorted(name for name in names if name)

    def exists(self, path: str) -> bool:
        """See :class:`~penstock.lake.files.FileSystem`."""
        local = self._local_path(path)
        if local is not None:
            return self._local.exists(local)
        folder, _, name = path.rstrip("/").rpartition("/")
        return name in self.names(folder)

    def read(self, path: str) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        local = self._local_path(path)
        if local is not None:
            return self._local.read(local)
        client, bucket, key = self._remote(path)
        try:
            content: bytes = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        except client.exceptions.NoSuchKey:
            raise FileNotFoundError(path) from None
        return content

    def tail(self, path: str, size: int) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        return self.read(path)[-size:]

    def walk(self, folder: str) -> dict[str, int]:
        """Not needed to read what is known by name."""
        raise self._refused(folder)

    def write(self, path: str, data: bytes) -> None:  # noqa: ARG002 - the port's
        """Refused."""
        raise self._refused(path)

    def move(self, source: str, target: str) -> None:  # noqa: ARG002 - the port's
        """Refused."""
        raise self._refused(source)

    def delete(self, path: str) -> None:
        """Refused."""
        raise self._refused(path)

    def sync(self, paths: Iterable[str], *, below: str) -> None:  # noqa: ARG002 - the port's
        """Refused."""
        raise self._refused(below)

    @staticmethod
    def _refused(path: str) -> InvalidInput:
        return InvalidInput(f"{path} is only read here.")
