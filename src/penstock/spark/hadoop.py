"""The commit's file operations over Hadoop's FileSystem, the same on ``file:``, ``s3a:`` and the embedded lake's viewfs.

Hadoop and Parquet's writer do not sync a local file when they close it, and a rename does not sync the folder. So this
module syncs files of this machine: fsync(2) writes a file's data to the disk, also if another process wrote it. An object
store keeps what it acknowledged, so it needs no sync.
"""

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock import durable
from penstock.errors import EnvironmentProblem

__all__ = ["HadoopFiles"]

_MISSING = "java.io.FileNotFoundException"


@contextmanager
def _calls(what: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        if cause.getClass().getName() == _MISSING:
            raise FileNotFoundError(what) from None
        raise EnvironmentProblem(
            f"{what}: {cause.toString()}.", remedy="Check the location, its permissions and free space."
        ) from error


class HadoopFiles:
    """Implements :class:`penstock.lake.files.FileSystem` with the session's Hadoop configuration."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsc.hadoopConfiguration()
        self._local: dict[str, Path | None] = {}

    def _open(self, path: str) -> tuple[Any, Any]:
        target = self._jvm.org.apache.hadoop.fs.Path(path)
        return target.getFileSystem(self._configuration), target

    def qualified(self, path: str) -> str:
        """Return the path with its file system, as Spark names the files that it reads."""
        with _calls(path):
            files, target = self._open(path)
            return str(files.makeQualified(target).toString())

    def names(self, folder: str) -> list[str]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        try:
            with _calls(folder):
                files, path = self._open(folder)
                return sorted(str(status.getPath().getName()) for status in files.listStatus(path))
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> dict[str, int]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        root, found = folder.rstrip("/"), {}
        try:
            with _calls(folder):
                files, path = self._open(root)
                prefix = len(files.makeQualified(path).toUri().getPath())
                listing = files.listFiles(path, True)
                while listing.hasNext():
                    status = listing.next()
                    found[root + str(status.getPath().toUri().getPath())[prefix:]] = int(status.getLen())
        except FileNotFoundError:
            return {}
        return dict(sorted(found.items()))

    def exists(self, path: str) -> bool:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            files, target = self._open(path)
            return bool(files.exists(target))

    def read(self, path: str) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            files, target = self._open(path)
            stream = files.open(target)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write(self, path: str, data: bytes) -> None:
        """See :class:`~penstock.lake.files.FileSystem`: writes a hidden file beside it, then renames it."""
        folder, _, name = path.rpartition("/")
        scratch = f"{folder}/.{name}.tmp"
        with _calls(path):
            files, target = self._open(scratch)
            stream = files.create(target, True)
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()
        self.sync([scratch], below=folder)
        self.move(scratch, path)
        self.sync([path], below=folder)

    def move(self, source: str, target: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(f"{source} to {target}"):
            files, origin = self._open(source)
            _, goal = self._open(target)
            if not files.exists(origin):
                raise FileNotFoundError(source)
            files.mkdirs(goal.getParent())
            if files.exists(goal):
                files.delete(goal, False)
            if not files.rename(origin, goal):
                raise EnvironmentProblem(
                    f"{source} could not be renamed to {target}.", remedy="Check permissions and free space."
                )

    def delete(self, path: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            files, target = self._open(path)
            files.delete(target, True)

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`. Raises :class:`EnvironmentProblem` if the disk fails."""
        root = below.rstrip("/")
        here = self._on_this_machine(root)
        if here is None:
            return
        folders: dict[Path, None] = {}
        try:
            for path in paths:
                file = here / path[len(root) + 1 :]
                # Hadoop's local file system may have a checksum file, which is synced with the file.
                for each in (file, file.with_name(f".{file.name}.crc")):
                    with contextlib.suppress(FileNotFoundError):
                        durable.sync(each)
                folders.update(dict.fromkeys(folder for folder in file.parents if folder.is_relative_to(here)))
            for folder in [*folders, here.parent]:
                with contextlib.suppress(FileNotFoundError):
                    durable.sync(folder)
        except OSError as error:
            raise EnvironmentProblem(
                f"{error.filename or below} could not be written to the disk: {error.strerror}.",
                remedy="Check the disk and its free space.",
            ) from error

    def _on_this_machine(self, folder: str) -> Path | None:
        """Return an existing folder's path on this machine, None if it does not exist or is on another file system."""
        if folder not in self._local:
            try:
                with _calls(folder):
                    files, path = self._open(folder)
                    where = files.resolvePath(path).toUri()
            except FileNotFoundError:
                return None
            self._local[folder] = Path(str(where.getPath())) if where.getScheme() == "file" else None
        return self._local[folder]
