"""The folder of a run: how the server and the run's supervisor tell each other what happened, across restarts of both.

Layout::

    lock          locked by the supervisor for as long as it lives
    run.json      what to run: written before the supervisor is started
    command.json  what the run's process reads its arguments from
    begun.json    written by the supervisor when it starts the run's process
    stop          written by the server: the run is to end
    ended.json    how the run ended: written by the supervisor, synced before it lets the lock go
    output/       what the process wrote to standard output, as events; error/ the same of standard error
    work/         the process's working directory, with the script; tmp/ its folder of temporary files
    spark/        spark.log, the log of its Spark

The run itself reaches only what it writes: ``work``, ``tmp`` and ``spark``. Where it has a system user of its own,
which cannot enter the server's home, these and its arguments are in a folder of that user.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.locks import is_locked

__all__ = ["RunFolder", "machine_of", "same_machine"]

_MACHINE_ID = Path("/etc/machine-id")  # machine-id(5)


def machine_of(folder: Path) -> str:
    """Return the name of the machine that has the runs in ``folder``: ``HOST#ID``, of which the id says which it is.

    The id is that of the folder, made once, with that of the operating system: machines and containers of one image have
    the same name, and a copied folder is another machine's. Raises :class:`EnvironmentProblem` if it cannot be written.
    """
    file = folder / "machine"
    try:
        durable.make_folder(folder, mode=0o700)
        if not file.exists():
            with contextlib.suppress(FileExistsError), durable.writing(file, new=True) as output:
                output.write(secrets.token_hex(16).encode())
        own = file.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            f"The folder of jobs {folder} cannot be written: {error.strerror}.", remedy="Give this user the right to it."
        ) from error
    with contextlib.suppress(OSError):
        own += _MACHINE_ID.read_bytes()
    return f"{socket.gethostname()[:60]}#{hashlib.sha256(own).hexdigest()[:16]}"


def same_machine(one: str | None, other: str) -> bool:
    """Return whether two names of :func:`machine_of` are of one machine, which may have been renamed."""
    return one is not None and one.rpartition("#")[2] == other.rpartition("#")[2]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    root: Path
    scratch: Path | None = None
    """The folder of what the run itself reads and writes, if that is not in ``root``."""

    @property
    def lock(self) -> Path:
        """The supervisor's lock."""
        return self.root / "lock"

    @property
    def work(self) -> Path:
        """The process's working directory."""
        return self._own / "work"

    @property
    def tmp(self) -> Path:
        """The process's folder of temporary files."""
        return self._own / "tmp"

    @property
    def log(self) -> Path:
        """The log of the process's Spark."""
        return self._own / "spark" / "spark.log"

    @property
    def _own(self) -> Path:
        return self.root if self.scratch is None else self.scratch

    @property
    def command(self) -> Path:
        """What the run's process reads its arguments from."""
        return self._own / "command.json"

    @property
    def exists(self) -> bool:
        """Whether the run was prepared on this machine."""
        return (self.root / "run.json").is_file()

    @property
    def created(self) -> int | None:
        """The milliseconds since 1970 at which the run was prepared on this machine; None if it was not."""
        try:
            return (self.root / "run.json").stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return None

    @property
    def supervised(self) -> bool:
        """Whether its supervisor lives."""
        return is_locked(self.lock)

    def prepare(self, plan: Mapping[str, Any]) -> None:
        """Create the folder, and write what is to be run; once, however often it is called."""
        for folder in (self.root, self.work, self.tmp, self.log.parent):
            durable.make_folder(folder, mode=0o700)
        self.lock.touch(mode=0o600)
        if not self.exists:
            self._write("run.json", plan)

    def plan(self) -> Mapping[str, Any]:
        """Return what is to be run."""
        return self._read("run.json") or {}

    def begin(self, begun: Mapping[str, Any]) -> None:
        """Record that the process is being started."""
        self._write("begun.json", begun)

    def begun(self) -> Mapping[str, Any] | None:
        """Return what :meth:`begin` recorded; None before it."""
        return self._read("begun.json")

    def request_stop(self) -> None:
        """Ask the supervisor to end the run."""
        (self.root / "stop").touch(mode=0o600)

    @property
    def stop_requested(self) -> bool:
        """Whether the run is to end."""
        return (self.root / "stop").exists()

    def end(self, ended: Mapping[str, Any]) -> None:
        """Record how the run ended; on the disk when this returns."""
        self._write("ended.json", ended)

    def ended(self) -> Mapping[str, Any] | None:
        """Return what :meth:`end` recorded; None before it."""
        return self._read("ended.json")

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        with durable.writing(self.root / name) as file:
            file.write(orjson.dumps(content))

    def _read(self, name: str) -> Mapping[str, Any] | None:
        try:
            document: Mapping[str, Any] = orjson.loads((self.root / name).read_bytes())
        except FileNotFoundError:
            return None
        return document

    def give(self, uid: int, gid: int) -> None:
        """Make what the run reads and writes another user's."""
        assert self.scratch is not None
        for path in (self.scratch, self.work, self.tmp, self.log.parent):
            os.chown(path, uid, gid, follow_symlinks=False)

    def remove_inputs(self) -> None:
        """Remove what only the run itself needed; its logs and its end stay."""
        for place in (self.work, self.tmp):
            for dir_entry in os.scandir(place) if place.is_dir() else ():
                if dir_entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(dir_entry.path, ignore_errors=True)
                else:
                    Path(dir_entry.path).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything of the run."""
        for folder in (self.root, self.scratch):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
