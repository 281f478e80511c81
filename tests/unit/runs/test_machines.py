"""Which machine has the runs of a folder: by ids, since machines of one image have one name."""

import shutil
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem
from penstock.jobs.runs import RunRequest
from penstock.retries import wait_until
from penstock.runs import folders
from penstock.runs.folders import machine_of, same_machine
from tests.unit.runs.conftest import World


def test_a_machine_is_known_by_its_folder_and_its_own_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_id = tmp_path / "machine-id"
    machine_id.write_text("one\n")
    monkeypatch.setattr(folders, "_MACHINE_ID", machine_id)
    here = machine_of(tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a/machine").stat().st_mode) == 0o600
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")
    assert same_machine(here, machine_of(tmp_path / "a")), "after a restart, under another name"
    assert not same_machine(here, machine_of(tmp_path / "b")), "a container of the same image"
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    machine_id.write_text("two\n")
    assert not same_machine(here, machine_of(tmp_path / "c")), "a copied disk"
    assert not same_machine(None, here)


def test_the_id_of_a_folder_is_written_once_and_then_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine_of(tmp_path / "a")
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: pytest.fail("each start of an account would sync a file"))
    assert machine_of(tmp_path / "a") == first


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentProblem, match=r"folder of jobs .* cannot be written: Not a directory"):
        machine_of(tmp_path / "file/jobs")


def test_a_runner_ends_the_process_of_a_run_that_another_machine_gave_up(world: World) -> None:
    (world.folder / "script.py").write_text("import time\ntime.sleep(600)\n")
    run = world.runs.start("j", RunRequest())
    here = world.runner("here")
    world.until(here, run.id, "RUNNING")
    # The store did not answer this machine, whose server goes on, for a while.
    here._ownership.close()
    other = world.runner("other")
    other.tick()
    world.now += timedelta(seconds=61)
    world.until(other, run.id, "FAILED")
    folder = here.folder(run.id)
    assert folder.supervised
    here.tick()
    assert wait_until(lambda: not folder.supervised, seconds=240)
    assert (folder.ended() or {})["reason"] == "stop"
