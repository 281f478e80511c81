"""The folders of managed tables, which a metastore makes and removes: in the embedded lake, or in S3."""

import shutil
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder, parse_uri

__all__ = ["Folders", "LakeFolders", "S3Folders"]


class Folders(Protocol):
    """Folders under ``s3://`` names."""

    def make(self, location: str) -> None:
        """Make the folder; it may exist. Raises :class:`~penstock.errors.PenstockError`, as the other method does."""
        ...

    def remove(self, location: str) -> None:
        """Remove the folder with all it contains; it need not exist."""
        ...


class LakeFolders:
    """Folders of the embedded lake at ``root``."""

    def __init__(self, root: Path) -> None:
        self._lake = LakeFolder(root)

    def make(self, location: str) -> None:
        self._lake.check_bucket(location).mkdir(parents=True, exist_ok=True)

    def remove(self, location: str) -> None:
        _inside(location)
        path = self._lake.path(location)
        if path.is_dir():
            shutil.rmtree(path)


class S3Folders:
    """Keys of S3 through a boto3 client; a folder is an empty object whose key ends with a slash, as Hadoop's are."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3

    def make(self, location: str) -> None:
        place = parse_uri(location)
        self._s3.put_object(Bucket=place.bucket, Key=f"{_inside(location)}/", Body=b"")

    def remove(self, location: str) -> None:
        place = parse_uri(location)
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=f"{_inside(location)}/")
        for page in pages:
            keys = [{"Key": content["Key"]} for content in page.get("Contents", ())]
            if keys:
                self._s3.delete_objects(Bucket=place.bucket, Delete={"Objects": keys, "Quiet": True})


def _inside(location: str) -> str:
    """Return the key of a folder inside a bucket. Raises :class:`InvalidInput` for a whole bucket."""
    key = parse_uri(location).key.strip("/")
    if not key:
        raise InvalidInput(f"{location} is a whole bucket, which no table's folder can be.")
    return key
