"""The lake as somebody may open it: each file is asked for before it is opened, by its one spelling.

Files are asked for many at once, and not at all below folders where the answer is the same for everything.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder, parse_uri

__all__ = ["DELETE_OBJECT", "GET_OBJECT", "LIST_BUCKET", "PUT_OBJECT", "FileAccess", "PermittedFiles", "TableKey"]

GET_OBJECT, LIST_BUCKET = "s3:GetObject", "s3:ListBucket"
PUT_OBJECT, DELETE_OBJECT = "s3:PutObject", "s3:DeleteObject"
TableKey = tuple[str, str]
"""The database and the name of a table, in lower case."""
_LAKE = "s3://"  # everything, in answers
_TOP = 3  # slashes of a bucket's location
_CHUNK = 10_000  # names in one question


class FileAccess(Protocol):
    """Decides on each file of the lake that a caller opens, lists or writes: the one place where that is decided."""

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        """Raise unless the caller may do S3's ``action`` on each of ``uris``: files, or with LIST_BUCKET folders.

        ``table`` is the table whose files they are. Where its own location is registered with Lake Formation, its grants
        decide about what is below that; the caller's rights in S3 decide about all else. Returns folders, which end in a
        slash, below which the caller may do ``action`` on everything; ``s3://`` stands for the whole lake.

        Raises :class:`penstock.errors.AccessDenied`, within statements an error that ends them.
        """
        ...


class PermittedFiles:
    """The lake's files as they may be opened for one table: a :class:`penstock.lake.locations.LakePaths`."""

    def __init__(self, lake: LakeFolder, access: FileAccess, table: TableKey | None) -> None:
        self.lake = lake
        """The lake itself, for names of files that are not opened."""
        self.table = table
        self._access = access
        self._root = f"{lake.root.resolve()}/"
        self._folders: dict[str, set[str]] = {GET_OBJECT: set(), LIST_BUCKET: set()}
        self._files: set[str] = set()
        self._states: dict[Path, tuple[int, int, int] | None] = {}

    @property
    def root(self) -> Path:
        """The folder of the buckets."""
        return self.lake.root

    def path(self, uri: str) -> Path:
        """Return the path of what is only named. Raises as :meth:`LakeFolder.path`."""
        return self.lake.path(uri)

    def check_bucket(self, uri: str) -> Path:
        """As :meth:`LakeFolder.check_bucket`."""
        return self.lake.check_bucket(uri)

    def readable(self, uri: str) -> Path:
        """Return the path of a file to be opened. Raises as :meth:`FileAccess.check_files`, :meth:`LakeFolder.path`."""
        path = self.lake.path(uri)
        self.check([str(path)])
        self._states.setdefault(path, _state(path))
        return path

    def changed(self) -> bool:
        """Return whether a file that was returned by :meth:`readable` is another one since, or was written to."""
        return any(_state(path) != state for path, state in self._states.items())

    def listable(self, uri: str) -> Path:
        """Return the path of a folder to be listed. Raises as :meth:`FileAccess.check_files`, :meth:`LakeFolder.path`."""
        path = self.lake.path(uri)
        self._check_listing([f"{self._uri(str(path)).rstrip('/')}/"])
        return path

    def check_listing(self, uris: Iterable[str]) -> None:
        """Raise as :meth:`FileAccess.check_files` unless each folder may be listed; folders outside the lake are skipped.

        What is below a folder that may be listed may be, too.
        """
        wanted = []
        for uri in uris:
            try:
                where = parse_uri(uri)
            except InvalidInput:
                continue  # reported when it is opened
            wanted.append(f"s3://{where.bucket}/{where.key}".rstrip("/") + "/")
        # The first one is often above the others.
        self._check_listing(wanted[:1])
        self._check_listing(wanted[1:])

    def _check_listing(self, folders: Sequence[str]) -> None:
        known = self._folders[LIST_BUCKET]
        new = [folder for folder in folders if folder not in known and not _is_within(folder, known)]
        if new:
            self._ask(LIST_BUCKET, new)
            known.update(new)

    def check(self, paths: Sequence[str]) -> None:
        """Raise as :meth:`FileAccess.check_files` unless each file, by its path, may be opened."""
        start, size = 0, 1  # the answer on the first one is often about all
        while start < len(paths):
            part = [path for path in paths[start : start + size] if not self.covers(path)]
            start, size = start + size, _CHUNK
            if part:
                self._ask(GET_OBJECT, [self._uri(name) for name in part])
                self._files.update(part)

    def covers(self, path: str) -> bool:
        """Return whether a file, by its path, was asked for."""
        return path in self._files or _within(self._uri(path), self._folders[GET_OBJECT])

    def _ask(self, action: str, uris: Sequence[str]) -> None:
        self._folders[action].update(self._access.check_files(action, uris, self.table))

    def _uri(self, path: str) -> str:
        return f"s3://{path.removeprefix(self._root)}"


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what changes whenever a file does, and that nobody can set back; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns, status.st_size


def _within(uri: str, folders: set[str]) -> bool:
    return any(uri.startswith(folder) for folder in folders)


def _is_within(folder: str, known: set[str]) -> bool:
    """Return whether a folder above ``folder`` is known; there may be many known ones."""
    above = folder
    while above.count("/") > _TOP:
        above = above[:-1].rpartition("/")[0] + "/"
        if above in known:
            return True
    return _LAKE in known
