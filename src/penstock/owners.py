"""Work that is recorded in the store (statements, crawls, runs of jobs): which process does it, and whether that still runs.

A record has the owner's name and the owner's last heartbeat. The owner stores heartbeats while it works; who finds a record
whose owner is gone ends the work, or takes it over.
"""

import hashlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Protocol

__all__ = ["Owned", "Ownership", "Poller", "is_running"]

_LOG = logging.getLogger(__name__)
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")

_living: set[str] = set()


class Owned(Protocol):
    """A record of work: the name of the process's service that does it, and that service's last sign of life."""

    @property
    def owner(self) -> str | None: ...

    @property
    def heartbeat(self) -> datetime | None: ...


class Ownership:
    """The work of one service of this process, beside that of others. Any thread may call it.

    ``name`` says where process ids mean what they mean here, the process id, and a unique part.
    """

    def __init__(
        self,
        *,
        dead_after: timedelta,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """An owner on another machine is gone if its heartbeat is older than ``dead_after``."""
        self.name = f"{_place()}:{os.getpid()}:{uuid.uuid4().hex}"
        self._dead_after = dead_after
        self._now = now
        self._monotonic = monotonic
        # By the record's id: its heartbeat, and when this service saw that first.
        self._seen: dict[str, tuple[datetime, float]] = {}
        _living.add(self.name)

    def owns(self, work: Owned) -> bool:
        """Return whether the work is this service's."""
        return work.owner == self.name

    def is_orphan(self, work: Owned, *, since: datetime) -> bool:
        """Return whether the owner of ``work`` is gone; ``since`` counts as its heartbeat if it has none.

        Where process ids mean the same, the process id shows it at once; elsewhere, or if another process has the id, the
        age of the heartbeat does.
        """
        return not self.owns(work) and self._is_gone(work.owner or "", self._now() - (work.heartbeat or since))

    def silence(self, key: str, work: Owned, *, since: datetime) -> timedelta:
        """Return for how long this service has seen no new heartbeat of a record: machines' clocks differ, and are set."""
        heartbeat, now = work.heartbeat or since, self._monotonic()
        seen, first = self._seen.get(key, (None, now))
        if seen != heartbeat:
            first = now
        self._seen[key] = (heartbeat, first)
        return timedelta(seconds=now - first)

    def is_silent_orphan(self, key: str, work: Owned, *, since: datetime) -> bool:
        """As :meth:`is_orphan`, with :meth:`silence` for the age of the heartbeat."""
        return not self.owns(work) and self._is_gone(work.owner or "", self.silence(key, work, since=since))

    def forget_all_but(self, keys: Collection[str]) -> None:
        """Forget the heartbeats of all records but these."""
        self._seen = {key: seen for key, seen in list(self._seen.items()) if key in keys}

    def close(self) -> None:
        """Own nothing more: this service's work is an orphan from now on."""
        _living.discard(self.name)

    def _is_gone(self, owner: str, silence: timedelta) -> bool:
        if owner in _living:
            return False
        place, _, rest = owner.partition(":")
        pid = rest.partition(":")[0]
        if place == _place() and pid.isdigit() and (int(pid) == os.getpid() or not is_running(int(pid))):
            return True
        return silence > self._dead_after


class Poller:
    """One thread that calls ``look`` until it is closed, after the seconds that ``look`` returns; None waits for a call.

    An error of ``look`` is logged as ``what`` could not be done: the store may be unavailable for a moment.
    """

    def __init__(self, look: Callable[[], float | None], *, name: str, what: str, pause: float) -> None:
        """``pause`` is before the first look, and after one that failed, in seconds."""
        self._look = look
        self._name = name
        self._what = what
        self._pause = pause
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread, if it was not started."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    def close(self, timeout: float | None = None) -> None:
        """Look no more; return when the thread has ended, or after ``timeout`` seconds."""
        with self._lock:
            self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        pause: float | None = self._pause
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                pause = self._look()
            except Exception:  # noqa: BLE001 - the next look may succeed
                _LOG.exception("%s failed", self._what)
                pause = self._pause


@cache
def _place() -> str:
    """Return the host's name and what sets apart the process ids of this kernel, boot and container from all others.

    A name alone does not: containers and machines of one image have the same. Source: pid_namespaces(7), proc(5).
    """
    try:
        marks = [_BOOT.read_text().strip(), str(_PROCESSES.readlink())]
    except OSError:  # not Linux
        marks = [hex(uuid.getnode())]
    digest = hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16]
    return f"{socket.gethostname()[:60].replace(':', '_')}/{digest}"


def is_running(pid: int) -> bool:
    """Return whether a process of this id runs here. One that has ended does not, also if its parent never asks for it.

    A container's first process often waits for no children, so that those of a killed server stay zombies. Source: proc(5).
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except FileNotFoundError:
        return not _PROCESSES.parent.exists()  # it has ended since, or this is not Linux
    except OSError:
        return True
    return state not in ("Z", "X")
