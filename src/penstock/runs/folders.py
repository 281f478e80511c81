"""The folder of a run: how the server and the run's supervisor tell each other what happened, across restarts of both.

Layout::

    lock          locked by the supervisor for as long as it lives
    run.json      what to run: written before the supervisor is started
    command.json  what the run's process reads its arguments from
    begun.json    written by the supervisor when it starts the run's process
    stop          written by the server: the run is to end
    ended.json    how the run ended: written by the supervisor, synced before it lets the lock go
    output/       what the process wrote to standard output, as events; error/ the same of standard error
    work/         the process's working directory, with the script
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock import durable
from penstock.locks import is_locked

__all__ = ["RunFolder"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    root: Path

    @property
    def lock(self) -> Path:
        """The supervisor's lock."""
        return self.root / "lock"

    @property
    def work(self) -> Path:
        """The process's working directory."""
        return self.root / "work"

    @property
    def command(self) -> Path:
        """What the run's process reads its arguments from."""
        return self.root / "command.json"

    @property
    def exists(self) -> bool:
        """Whether the run was prepared on this machine."""
        return (self.root / "run.json").is_file()

    @property
    def supervised(self) -> bool:
        """Whether its supervisor lives."""
        return is_locked(self.lock)

    def prepare(self, plan: Mapping[str, Any]) -> None:
        """Create the folder, and write what is to be run; once, however often it is called."""
        durable.make_folder(self.work, mode=0o700)
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
            found: Mapping[str, Any] = orjson.loads((self.root / name).read_bytes())
        except FileNotFoundError:
            return None
        return found

    def remove_inputs(self) -> None:
        """Remove what only the run itself needed; its logs and its end stay."""
        for folder, _, names in os.walk(self.work, topdown=False):
            for name in names:
                Path(folder, name).unlink(missing_ok=True)
