"""Simulates a power loss: a folder keeps what was synced, and nothing else.

:class:`ForgetfulDisk` intercepts ``fsync``. When a file is synced, it stores the file's content; when a folder is synced,
the names in it. POSIX promises that and no more (fsync(2)). It stores them in files of its own, so that the process may be
killed. :func:`after_power_loss` then makes the folder as the disk had it. A file whose name was synced and whose content was
not is empty, as in file systems that write content late.
"""

import fcntl
import json
import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

from penstock import durable

__all__ = ["ForgetfulDisk", "after_power_loss"]

_LOG = "log.jsonl"
# A process that closes a file loses all its locks on it (fcntl(2)), also those of other descriptors: SQLite's files.
_LOCKED = re.compile(r"\.db(-wal|-shm|-journal)?$")
_F_GETPATH = 50  # macOS


class ForgetfulDisk:
    """Records in ``notes`` what the disk has of the folder ``root``; at the start, all of it. Safe for threads."""

    def __init__(self, root: Path, notes: Path) -> None:
        self._root = root.resolve()
        self._notes = notes
        self._lock = threading.Lock()
        self._descriptors: dict[int, int] = {}
        self._number = 0
        notes.mkdir(parents=True)
        self._write({"root": self._root.stat().st_ino})
        for folder, _, files in os.walk(self._root):
            self.synced(Path(folder))
            for name in files:
                self.synced(Path(folder, name))

    def install(self) -> None:
        """Intercept every ``os.fsync`` of this process from now on, also those of :mod:`penstock.durable`."""
        real = os.fsync

        def fsync(file: Any) -> None:
            descriptor = file if isinstance(file, int) else file.fileno()
            real(descriptor)
            self.synced(_path(descriptor))

        vars(os).update(fsync=fsync, fdatasync=fsync)
        vars(durable)["F_FULLFSYNC"] = None

    def synced(self, path: Path, content: bytes | None = None) -> None:
        """Record that the file or folder ``path`` was synced now.

        ``content`` is the file's, given by a caller that has it open if it may not be opened here: see :data:`_LOCKED`.
        """
        if not path.is_relative_to(self._root):
            return
        with self._lock:
            if path.is_dir():
                with os.scandir(path) as scanned:
                    entries = {
                        dir_entry.name: [dir_entry.inode(), dir_entry.is_dir(follow_symlinks=False)] for dir_entry in scanned
                    }
                for name, (_, is_folder) in entries.items():
                    if not is_folder and not _LOCKED.search(name):
                        self._hold(path / name)
                self._write({"folder": path.stat().st_ino, "entries": entries})
            elif content is not None or self._hold(path):
                self._number += 1
                (self._notes / str(self._number)).write_bytes(path.read_bytes() if content is None else content)
                self._write({"file": path.stat().st_ino, "content": self._number})

    def _hold(self, path: Path) -> bool:
        """Keep a file open, so that its inode is not reused. Return whether it still exists."""
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return False
        if self._descriptors.setdefault(os.fstat(descriptor).st_ino, descriptor) != descriptor:
            os.close(descriptor)
        return True

    def _write(self, note: dict[str, Any]) -> None:
        with (self._notes / _LOG).open("a") as log:
            log.write(json.dumps(note) + "\n")


def after_power_loss(notes: Path, target: Path, *, names_of: Path | None = None) -> None:
    """Make ``target`` the folder as the disk had it when the process that wrote ``notes`` ended.

    A disk may also have what was not synced. With ``names_of``, the folder as the process left it, it has all names, as
    most file systems write them soon; a file's content is that of its last sync.
    """
    folders: dict[int, dict[str, tuple[int, bool]]] = {}
    files: dict[int, int] = {}
    root = -1
    for line in (notes / _LOG).read_text().splitlines():
        note = json.loads(line)
        root = note.get("root", root)
        if "folder" in note:
            folders[note["folder"]] = note["entries"]
        if "file" in note:
            files[note["file"]] = note["content"]

    def make(folder: int, path: Path) -> None:
        path.mkdir(mode=0o700)
        for name, (number, is_folder) in folders.get(folder, {}).items():
            if is_folder:
                make(number, path / name)
            elif number in files:
                shutil.copyfile(notes / str(files[number]), path / name)
                (path / name).chmod(0o600)
            else:
                (path / name).touch(mode=0o600)

    if names_of is not None:
        for folder, _, _ in os.walk(names_of):
            with os.scandir(folder) as scanned:
                entries = {
                    dir_entry.name: (dir_entry.inode(), dir_entry.is_dir(follow_symlinks=False)) for dir_entry in scanned
                }
            folders[Path(folder).stat().st_ino] = entries
    make(root, target)


def _path(descriptor: int) -> Path:
    link = Path(f"/proc/self/fd/{descriptor}")
    if link.is_symlink():
        return link.readlink()
    return Path(fcntl.fcntl(descriptor, _F_GETPATH, bytes(1024)).rstrip(b"\0").decode())
