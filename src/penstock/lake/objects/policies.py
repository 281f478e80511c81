"""The policies of a lake's buckets: a file for each, beside the buckets, that all processes of the server read."""

from pathlib import Path

from penstock import durable
from penstock.lake.objects.names import WORK_FOLDER, check_bucket_name

__all__ = ["BucketPolicies"]


class BucketPolicies:
    """The policies of the buckets of the lake ``root``, as text. Safe for threads; every call may block."""

    def __init__(self, root: Path) -> None:
        self._folder = root / WORK_FOLDER / "policies"
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}

    def get(self, bucket: str) -> str | None:
        """Return the bucket's policy as it is stored now; None if it has none. Raises ``OSError`` if it cannot be read."""
        path = self._path(bucket)
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        state = (status.st_mtime_ns, status.st_ino, status.st_size)
        known = self._known.get(bucket)
        if known is not None and known[0] == state:
            return known[1]
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        self._known[bucket] = (state, text)
        return text

    def put(self, bucket: str, text: str) -> None:
        """Replace the bucket's policy, durably."""
        path = self._path(bucket)
        durable.make_folder(self._folder, mode=0o700)
        with durable.writing(path) as file:
            file.write(text.encode())

    def delete(self, bucket: str) -> None:
        """Remove the bucket's policy, if it has one."""
        path = self._path(bucket)
        if path.exists():
            durable.remove([path])

    def _path(self, bucket: str) -> Path:
        check_bucket_name(bucket)
        return self._folder / f"{bucket}.json"
