"""Whether the process of a store's work has ended: known by its id only where process ids mean the same."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

from penstock.owners import forget_owner, is_lost, new_owner

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MINUTE = timedelta(seconds=60)


def lost(owner: str, *, after: timedelta) -> bool:
    return is_lost(owner, NOW, now=NOW + after, dead_after=MINUTE)


def of_ended_process(owner: str) -> str:
    ended = subprocess.Popen([sys.executable, "-I", "-c", ""])
    ended.wait()
    return owner.replace(f":{os.getpid()}:", f":{ended.pid}:")


def test_a_process_here_is_lost_when_it_has_ended() -> None:
    owner = new_owner()
    assert not lost(owner, after=timedelta(hours=1)), "it is this process"
    assert lost(of_ended_process(owner), after=timedelta(0))
    forget_owner(owner)
    assert lost(owner, after=timedelta(0))


def test_a_machine_or_container_of_the_same_name_is_known_by_its_heartbeat_alone() -> None:
    place, _, rest = of_ended_process(new_owner()).partition(":")
    name = place.partition("/")[0]
    for elsewhere in (f"{name}/0123456789abcdef:{rest}", f"{name}:{rest}"):
        assert not lost(elsewhere, after=timedelta(seconds=59))
        assert lost(elsewhere, after=timedelta(seconds=61))
