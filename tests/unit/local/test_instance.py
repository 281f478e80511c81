"""One platform a home: the lock, and what is left of a platform that was killed."""

import os
from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem
from penstock.local import instance as module
from penstock.local.instance import Instance, PartState, PlatformState, process_started

STATE = PlatformState(pid=os.getpid(), phase="running", started_at=1.0)


def test_a_second_platform_is_refused_with_the_first_ones_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROBE_PATIENCE", 0.05)
    first, second = Instance(tmp_path / "run"), Instance(tmp_path / "run")
    assert not second.is_held()
    first.acquire()
    first.write(STATE)
    assert second.is_held()
    with pytest.raises(EnvironmentProblem, match=rf"already runs .*\(process {os.getpid()}\).*penstock down"):
        second.acquire()
    first.release()
    assert not second.is_held()
    second.acquire()
    second.release()


def test_a_stale_state_file_does_not_count(tmp_path: Path) -> None:
    instance = Instance(tmp_path / "run")
    instance.acquire()
    instance.write(STATE)
    instance.release()
    (tmp_path / "run" / "platform.state.json").write_text('{"pid": 1}')
    assert not instance.is_held()
    assert instance.read() is None
    assert instance.wait_for_leftovers() == 0


def test_a_reused_process_id_is_no_leftover(tmp_path: Path) -> None:
    instance = Instance(tmp_path / "run")
    instance.acquire()
    part = PartState(
        name="kafka", title="k", address="a", ready=True, pid=os.getppid(), leash_started=1.0, restarts=0, start_seconds=1.0
    )
    instance.write(PlatformState(pid=1, phase="running", started_at=1.0, parts=(part,)))
    assert instance.read() == PlatformState(pid=1, phase="running", started_at=1.0, parts=(part,))
    assert instance.wait_for_leftovers() == 0
    instance.release()


def test_process_started_knows_who_lives() -> None:
    assert process_started(os.getpid()) is not None
    assert process_started(None) is None
    assert process_started(2**22 + 1) is None
