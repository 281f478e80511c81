"""At most one running platform per home: a lock ensures it, and a state file describes it to other commands.

The kernel releases the lock when its process ends. So a killed platform leaves no stale lock, only a stale state file,
which is recognized by the free lock.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from penstock.errors import EnvironmentProblem
from penstock.local.files import write_private
from penstock.locks import file_lock, is_locked

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["Instance", "PartState", "PlatformState", "process_started"]

_PROBE_PATIENCE = 2.0  # seconds; another command may hold the lock for a moment to test it
_LEFTOVER_PATIENCE = 60.0  # seconds in which the parts of a killed platform must end


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """One part as its supervisor sees it. ``leash_started`` (seconds since the epoch) detects a reused process id."""

    name: str
    title: str
    address: str
    ready: bool
    pid: int | None
    leash_started: float | None
    restarts: int
    start_seconds: float | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformState:
    """The state of a running platform; ``phase`` is starting, running, degraded (a part failed) or stopping."""

    pid: int
    phase: str
    started_at: float
    parts: tuple[PartState, ...] = field(default=())


def process_started(pid: int | None) -> float | None:
    """Return when the process began, in seconds since the epoch; None if it does not exist."""
    if pid is None:
        return None
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


class Instance:
    """The lock and the state file in a home's ``run`` folder."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._lock: BaseFileLock | None = None

    @property
    def held_here(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock is not None

    def is_held(self) -> bool:
        """Return whether any process, this one included, runs a platform here."""
        return is_locked(self._lock_file)

    def acquire(self) -> None:
        """Take the lock; raise :class:`EnvironmentProblem` if a platform runs already."""
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = file_lock(self._lock_file, patience=_PROBE_PATIENCE)
        try:
            lock.acquire()
        except TimeoutError:
            state = self.read()
            who = f" (process {state.pid})" if state else ""
            raise EnvironmentProblem(
                f"A platform already runs in {self._run.parent}{who}.",
                remedy="See 'penstock status', stop it with 'penstock down', or choose another --home.",
            ) from None
        self._lock = lock

    def release(self) -> None:
        """Release the lock and remove the state file."""
        if self._lock is not None:
            self._state_file.unlink(missing_ok=True)
            self._lock.release()
            self._lock = None

    def write(self, state: PlatformState) -> None:
        """Replace the state file."""
        write_private(self._state_file, json.dumps(asdict(state)) + "\n")

    def read(self) -> PlatformState | None:
        """Return the last state written; None if it is missing or unreadable."""
        try:
            raw = json.loads(self._state_file.read_text())
            parts = tuple(PartState(**part) for part in raw.pop("parts"))
            return PlatformState(**raw, parts=parts)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def wait_for_leftovers(self) -> int:
        """Wait until the parts that a killed platform left have ended. Return how many there were.

        Their leashes end them, so this only waits. Raises :class:`EnvironmentProblem` if one does not end.
        """
        leftovers = list(self._leftovers())
        for process in leftovers:
            try:
                process.wait(_LEFTOVER_PATIENCE)
            except psutil.TimeoutExpired:
                raise EnvironmentProblem(
                    f"Process {process.pid} of an earlier platform in {self._run.parent} does not end.",
                    remedy=f"End it with 'kill -9 {process.pid}' and try again.",
                ) from None
        return len(leftovers)

    def _leftovers(self) -> Iterator[psutil.Process]:
        state = self.read()
        for part in state.parts if state else ():
            if part.pid is None:
                continue
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(part.pid)
                if process.create_time() == part.leash_started and process.pid != os.getpid():
                    yield process

    @property
    def _lock_file(self) -> Path:
        return self._run / "platform.lock"

    @property
    def _state_file(self) -> Path:
        return self._run / "platform.state.json"
