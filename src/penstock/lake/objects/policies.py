"""Documents about a lake's buckets, such as their policies: a file for each, that all processes of the server read."""

import shutil
from pathlib import Path

from penstock import durable
from penstock.lake.objects.names import WORK_FOLDER, check_bucket_name

__all__ = ["BucketPolicies", "BucketSettings"]


class BucketPolicies:
    """The policies of the buckets of the lake ``root``, as text. Safe for threads; every call may block."""

    def __init__(self, root: Path) -> None:
        self._folder = root / WORK_FOLDER / "policies"
        self._documents = _Documents()

    def get(self, bucket: str) -> str | None:
        """Return the bucket's policy as it is stored now; None if it has none. Raises ``OSError`` if it cannot be read."""
        return self._documents.get(self._path(bucket))

    def put(self, bucket: str, text: str) -> None:
        """Replace the bucket's policy, durably."""
        self._documents.put(self._path(bucket), text)

    def delete(self, bucket: str) -> None:
        """Remove the bucket's policy, if it has one."""
        self._documents.delete(self._path(bucket))

    def _path(self, bucket: str) -> Path:
        check_bucket_name(bucket)
        return self._folder / f"{bucket}.json"


class BucketSettings:
    """Other settings of the buckets of the lake ``root`` by name (``tagging``), as text. Safe for threads; may block."""

    def __init__(self, root: Path) -> None:
        self._folder = root / WORK_FOLDER / "settings"
        self._documents = _Documents()

    def get(self, bucket: str, name: str) -> str | None:
        """Return a setting as it is stored now; None if the bucket has it not. Raises ``OSError`` if it cannot be read."""
        return self._documents.get(self._path(bucket, name))

    def put(self, bucket: str, name: str, text: str) -> None:
        """Replace a setting, durably."""
        self._documents.put(self._path(bucket, name), text)

    def delete(self, bucket: str, name: str) -> None:
        """Remove a setting, if the bucket has it."""
        self._documents.delete(self._path(bucket, name))

    def delete_all(self, bucket: str) -> None:
        """Remove all settings of a bucket."""
        check_bucket_name(bucket)
        shutil.rmtree(self._folder / bucket, ignore_errors=True)

    def _path(self, bucket: str, name: str) -> Path:
        check_bucket_name(bucket)
        return self._folder / bucket / f"{name}.json"


class _Documents:
    """Small text files by path, each in memory as long as it does not change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def get(self, path: Path) -> str | None:
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        state = (status.st_mtime_ns, status.st_ino, status.st_size)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        self._known[path] = (state, text)
        return text

    def put(self, path: Path, text: str) -> None:
        durable.make_folder(path.parent, mode=0o700)
        with durable.writing(path) as file:
            file.write(text.encode())

    def delete(self, path: Path) -> None:
        if path.exists():
            durable.remove([path])
