"""Whether the process of a store's work has ended: known by its id only where process ids mean the same."""

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.owners import Ownership, Poller, is_running

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MINUTE = timedelta(seconds=60)


@dataclass(frozen=True)
class Work:
    owner: str | None
    heartbeat: datetime | None = NOW


def lost(work: Work, *, after: timedelta) -> bool:
    """Return what another service says of the work."""
    other = Ownership(dead_after=MINUTE, now=lambda: NOW + after)
    try:
        return other.is_orphan(work, since=NOW)
    finally:
        other.close()


def of_ended_process(work: Work) -> Work:
    ended = subprocess.Popen([sys.executable, "-I", "-c", ""])
    ended.wait()
    assert work.owner is not None
    return replace(work, owner=work.owner.replace(f":{os.getpid()}:", f":{ended.pid}:"))


def test_a_process_here_is_lost_when_it_has_ended() -> None:
    ownership = Ownership(dead_after=MINUTE, now=lambda: NOW)
    work = Work(ownership.name)
    assert ownership.owns(work)
    assert not ownership.is_orphan(work, since=NOW)
    assert not lost(work, after=timedelta(hours=1)), "it is this process"
    assert lost(of_ended_process(work), after=timedelta(0))
    ownership.close()
    assert lost(work, after=timedelta(0))


def test_a_process_that_nobody_has_waited_for_has_ended() -> None:
    work = Work(Ownership(dead_after=MINUTE).name)
    with subprocess.Popen([sys.executable, "-I", "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert work.owner is not None
        work = replace(work, owner=work.owner.replace(f":{os.getpid()}:", f":{process.pid}:"))
        assert is_running(process.pid)
        assert not lost(work, after=timedelta(0))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.kill(process.pid, 0)  # a zombie has its id
        assert not is_running(process.pid)
        assert lost(work, after=timedelta(0))
    assert not is_running(process.pid)


def test_a_machine_or_container_of_the_same_name_is_known_by_its_heartbeat_alone() -> None:
    owner = of_ended_process(Work(Ownership(dead_after=MINUTE).name)).owner
    assert owner is not None
    place, _, rest = owner.partition(":")
    name = place.partition("/")[0]
    for elsewhere in (Work(f"{name}/0123456789abcdef:{rest}"), Work(f"{name}:{rest}"), Work(None, None)):
        assert not lost(elsewhere, after=timedelta(seconds=59))
        assert lost(elsewhere, after=timedelta(seconds=61))


def test_silence_is_counted_from_when_a_heartbeat_was_seen_first() -> None:
    seconds = 0.0
    ownership = Ownership(dead_after=MINUTE, now=lambda: NOW, monotonic=lambda: seconds)
    work = Work("elsewhere:1:x", NOW - timedelta(days=1))  # its machine's clock is a day behind
    assert not ownership.is_silent_orphan("one", work, since=NOW)
    seconds = 59.0
    assert not ownership.is_silent_orphan("one", work, since=NOW)
    seconds = 61.0
    assert ownership.is_silent_orphan("one", work, since=NOW)
    assert not ownership.is_silent_orphan("one", replace(work, heartbeat=NOW), since=NOW), "it gave a sign of life"
    ownership.forget_all_but(["other"])
    assert ownership.silence("one", work, since=NOW) == timedelta(0)
    ownership.close()


def test_a_poller_looks_when_it_is_time_and_when_it_is_woken(caplog: pytest.LogCaptureFixture) -> None:
    looked = threading.Semaphore(0)
    pauses = iter([0.0, None, OSError("the store is away"), None])

    def look() -> float | None:
        looked.release()
        pause = next(pauses)
        if isinstance(pause, OSError):
            raise pause
        return pause

    poller = Poller(look, name="test", what="looking", pause=0.0)
    poller.begin()
    poller.begin()
    assert all(looked.acquire(timeout=30) for _ in range(2)), "the second look comes by itself"
    poller.wake()
    assert all(looked.acquire(timeout=30) for _ in range(2)), "an error does not end it"
    poller.close()
    poller.begin()
    assert not looked.acquire(timeout=0), "a look that waits for a call does not come by itself, nor after the end"
    assert "looking failed" in caplog.text
