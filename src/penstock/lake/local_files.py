"""The file operations of a commit on this machine's disk, durable: what a sync promises is on the disk when it returns."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock import durable
from penstock.errors import EnvironmentProblem

__all__ = ["LocalFiles"]


@contextmanager
def _calls(what: str | Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(str(what)) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{error.filename or what}: {error.strerror}.", remedy="Check the location, its permissions and free space."
        ) from error


class LocalFiles:
    """Implements :class:`penstock.lake.files.FileSystem` for absolute paths; ``umask`` is that of new files and folders.

    A folder's entry in its parent is synced once: it is durable from then on. So a batch that adds a file to a folder that
    an earlier one made costs the sync of the file and of its folder.
    """

    def __init__(self, *, umask: int = durable.PRIVATE_UMASK) -> None:
        self._umask = umask
        self._linked: set[tuple[Path, int]] = set()

    def names(self, folder: str) -> list[str]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        try:
            with _calls(folder):
                return sorted(os.listdir(folder))  # noqa: PTH208 - only the names
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> dict[str, int]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        root, sizes = folder.rstrip("/"), {}
        with _calls(folder):
            for parent, _, names in os.walk(root):
                for name in names:
                    with suppress(FileNotFoundError):  # removed since the listing
                        sizes[f"{parent}/{name}"] = os.stat(f"{parent}/{name}").st_size  # noqa: PTH116 - many files
        return dict(sorted(sizes.items()))

    def exists(self, path: str) -> bool:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            return Path(path).exists()

    def read(self, path: str) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            return Path(path).read_bytes()

    def tail(self, path: str, size: int) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path), Path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read()

    def write(self, path: str, data: bytes) -> None:
        """See :class:`~penstock.lake.files.FileSystem`: writes a hidden file beside it, then renames it."""
        target = Path(path)
        scratch = target.with_name(f".{target.name}.tmp")
        with _calls(path):
            top = self._make(target.parent)
            descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666 & ~self._umask)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                durable.sync_file(file.fileno())
            scratch.replace(target)
            self._sync_folders([target.parent], top)

    def move(self, source: str, target: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        origin, goal = Path(source), Path(target)
        with _calls(source):
            if not origin.exists():
                raise FileNotFoundError(source)
            self._make(goal.parent)
            origin.replace(goal)

    def delete(self, path: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        target = Path(path)
        with _calls(path), suppress(FileNotFoundError):
            if target.is_dir() and not target.is_symlink():
                self._linked = {(folder, node) for folder, node in self._linked if not folder.is_relative_to(target)}
                shutil.rmtree(target)
            else:
                target.unlink()

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`. Raises :class:`EnvironmentProblem` if the disk fails."""
        folders: dict[Path, None] = {}
        with _calls(below):
            for path in map(Path, paths):
                with suppress(FileNotFoundError):
                    durable.sync(path)
                folders[path.parent] = None
            self._sync_folders(folders, Path(below))

    def _make(self, folder: Path) -> Path:
        """Create a folder and its parents, each with the mode that the umask leaves; return the first that is new."""
        missing: list[Path] = []
        wanted = folder
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            path.mkdir(mode=0o777 & ~self._umask, exist_ok=True)
        return missing[-1] if missing else wanted

    def _sync_folders(self, changed: Iterable[Path], top: Path) -> None:
        """Sync the entries of ``changed`` folders, and of each folder from them up to ``top`` that is new, in its parent."""
        todo, linked = dict.fromkeys(changed), []
        for folder in list(todo):
            for parent in (folder, *folder.parents):
                if not parent.is_relative_to(top):
                    break
                with suppress(FileNotFoundError):
                    key = (parent, parent.stat().st_ino)
                    if key not in self._linked:
                        todo[parent.parent] = None
                        linked.append(key)
        for folder in todo:
            with suppress(FileNotFoundError):
                durable.sync(folder)
        self._linked.update(linked)
