"""The commit's file operations over Hadoop's FileSystem, the same on ``file:``, ``s3a:`` and the embedded lake's viewfs.

Hadoop and Parquet's writer do not sync a local file when they close it, and a rename does not sync the folder. So this
module syncs files of this machine: fsync(2) writes a file's data to the disk, also if another process wrote it. An object
store keeps what it acknowledged, so it needs no sync.

Where Hadoop would only call this machine's file system (without its checksum files), Python does so itself: a call of the
JVM costs as much as many of the file system.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.lake.local_files import LocalFiles

__all__ = ["HadoopFiles"]

_MISSING = "java.io.FileNotFoundException"
_HDFS = "hdfs"
_RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
_VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
_OCTAL = re.compile(r"[0-7]{1,4}")
_ROOT = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(/.*)")


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
        self._roots: dict[tuple[str, str], str | None] = {}
        umask = str(self._configuration.get("fs.permissions.umask-mode", "022"))
        self._octal = bool(_OCTAL.fullmatch(umask))  # the other notation is Hadoop's own
        self._here = LocalFiles(umask=int(umask, 8) if self._octal else durable.PRIVATE_UMASK)

    def _raw(self, path: str) -> str | None:
        """Return the path on this machine's disk, if Hadoop maps the path to it without checksum files."""
        match = _ROOT.fullmatch(path)
        if match is None or not self._octal:
            return None
        scheme, authority = match[1] or "", match[2] or ""
        if (scheme, authority) not in self._roots:
            self._roots[scheme, authority] = self._raw_root(path, authority)
        root = self._roots[scheme, authority]
        return None if root is None else root + match[3]

    def _raw_root(self, path: str, authority: str) -> str | None:
        """Return the folder that is the root of a path's file system; None if it is not one of :meth:`_raw`."""
        with _calls(path):
            files, _ = self._open(path)
            class_name = str(files.getClass().getName())
            if class_name == _RAW:
                return ""
            mounts = dict(self._configuration.getPropsWithPrefix(f"fs.viewfs.mounttable.{authority}."))
            if class_name != _VIEW or list(mounts) != ["linkFallback"]:
                return None
            target = self._jvm.org.apache.hadoop.fs.Path(mounts["linkFallback"])
            if str(target.getFileSystem(self._configuration).getClass().getName()) != _RAW:
                return None
            return str(target.toUri().getPath()).rstrip("/")

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
        here = self._raw(folder)
        if here is not None:
            return self._here.names(here)
        try:
            with _calls(folder):
                files, path = self._open(folder)
                return sorted(str(status.getPath().getName()) for status in files.listStatus(path))
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> dict[str, int]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        here = self._raw(folder)
        if here is not None:
            cut = len(here.rstrip("/"))
            return {folder.rstrip("/") + path[cut:]: size for path, size in self._here.walk(here).items()}
        root, sizes = folder.rstrip("/"), {}
        try:
            with _calls(folder):
                files, path = self._open(root)
                prefix = len(files.makeQualified(path).toUri().getPath())
                listing = files.listFiles(path, True)
                while listing.hasNext():
                    status = listing.next()
                    sizes[root + str(status.getPath().toUri().getPath())[prefix:]] = int(status.getLen())
        except FileNotFoundError:
            return {}
        return dict(sorted(sizes.items()))

    def exists(self, path: str) -> bool:
        """See :class:`~penstock.lake.files.FileSystem`."""
        here = self._raw(path)
        if here is not None:
            return self._here.exists(here)
        with _calls(path):
            files, target = self._open(path)
            return bool(files.exists(target))

    def read(self, path: str) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        here = self._raw(path)
        if here is not None:
            return self._here.read(here)
        with _calls(path):
            files, target = self._open(path)
            stream = files.open(target)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def tail(self, path: str, size: int) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        here = self._raw(path)
        if here is not None:
            return self._here.tail(here, size)
        with _calls(path):
            files, target = self._open(path)
            stream = files.open(target)
            try:
                stream.seek(max(0, int(files.getFileStatus(target).getLen()) - size))
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write(self, path: str, data: bytes) -> None:
        """See :class:`~penstock.lake.files.FileSystem`: writes a hidden file beside it, then renames it."""
        here = self._raw(path)
        if here is not None:
            self._here.write(here, data)
            return
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
        here, there = self._raw(source), self._raw(target)
        if here is not None and there is not None:
            self._here.move(here, there)
            return
        with _calls(f"{source} to {target}"):
            files, origin = self._open(source)
            _, goal = self._open(target)
            if not files.exists(origin):
                raise FileNotFoundError(source)
            files.mkdirs(goal.getParent())
            if str(files.getUri().getScheme()) == _HDFS:
                self._replace(origin, goal)
                return
            if files.exists(goal):
                files.delete(goal, False)
            if not files.rename(origin, goal):
                raise EnvironmentProblem(
                    f"{source} could not be renamed to {target}.", remedy="Check permissions and free space."
                )

    def _replace(self, origin: Any, goal: Any) -> None:
        """Rename in one call of the NameNode, so that no crash and no reader finds the target missing."""
        options = self._jvm.org.apache.hadoop.fs.Options
        rename = self._jvm.java.lang.reflect.Array.newInstance(options.Rename.OVERWRITE.getDeclaringClass(), 1)
        rename[0] = options.Rename.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(goal.toUri(), self._configuration)
        context.rename(origin, goal, rename)

    def delete(self, path: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        here = self._raw(path)
        if here is not None:
            self._here.delete(here)
            return
        with _calls(path):
            files, target = self._open(path)
            files.delete(target, True)

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`. Raises :class:`EnvironmentProblem` if the disk fails."""
        top = self._raw(below.rstrip("/"))
        if top is not None:
            cut = len(below.rstrip("/"))
            self._here.sync([top + path[cut:] for path in paths], below=top)
            return
        root = below.rstrip("/")
        here = self.on_this_machine(root)
        if here is None:
            return
        folders: dict[Path, None] = {}
        try:
            for path in paths:
                file = here / path[len(root) + 1 :]
                # Hadoop's local file system may have a checksum file, which is synced with the file.
                for item in (file, file.with_name(f".{file.name}.crc")):
                    with contextlib.suppress(FileNotFoundError):
                        durable.sync(item)
                folders.update(dict.fromkeys(folder for folder in file.parents if folder.is_relative_to(here)))
            for folder in [*folders, here.parent]:
                with contextlib.suppress(FileNotFoundError):
                    durable.sync(folder)
        except OSError as error:
            raise EnvironmentProblem(
                f"{error.filename or below} could not be written to the disk: {error.strerror}.",
                remedy="Check the disk and its free space.",
            ) from error

    def on_this_machine(self, folder: str) -> Path | None:
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
