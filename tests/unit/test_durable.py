"""Files written through penstock.durable are whole, and there, after a power loss at any moment."""

import os
from itertools import count
from pathlib import Path
from unittest import mock

import pytest

from penstock import durable
from penstock.testing.powerloss import ForgetfulDisk, after_power_loss


class Disk:
    """The folder ``home`` on a disk that forgets; called, it gives the folder that a power loss leaves."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._folder = folder
        self._count = count()

    def __call__(self) -> Path:
        left = self._folder / f"left-{next(self._count)}"
        after_power_loss(self._folder / "notes", left)
        return left


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    home = tmp_path / "home"
    home.mkdir()
    (home / "old").write_bytes(b"old")
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(durable, "F_FULLFSYNC", None)
    ForgetfulDisk(home, tmp_path / "notes").install()
    return Disk(tmp_path)


def test_what_was_not_synced_is_gone(disk: Disk) -> None:
    (disk.home / "late").write_bytes(b"x")
    (disk.home / "old").write_bytes(b"new")
    left = disk()
    assert {path.name: path.read_bytes() for path in left.iterdir()} == {"old": b"old"}


def test_a_renaming_whose_file_was_not_synced_leaves_nothing_in_it(disk: Disk) -> None:
    (disk.home / "scratch").write_bytes(b"new")
    (disk.home / "scratch").replace(disk.home / "old")
    durable.sync(disk.home)
    assert (disk() / "old").read_bytes() == b""


def test_names_may_be_there_without_their_content(disk: Disk, tmp_path: Path) -> None:
    (disk.home / "late").write_bytes(b"x")
    (disk.home / "old").write_bytes(b"new")
    after_power_loss(tmp_path / "notes", tmp_path / "left", names_of=disk.home)
    left = {path.name: path.read_bytes() for path in (tmp_path / "left").iterdir()}
    assert left == {"late": b"", "old": b"old"}


def test_a_written_file_is_there(disk: Disk) -> None:
    with durable.writing(disk.home / "old") as file:
        file.write(b"new")
        assert (disk.home / "old").read_bytes() == b"old"
    assert {path.name: path.read_bytes() for path in disk().iterdir()} == {"old": b"new"}


def test_a_new_file_replaces_none(disk: Disk) -> None:
    with pytest.raises(FileExistsError) as caught, durable.writing(disk.home / "old", new=True) as file:
        file.write(b"new")
    assert caught.value.filename == str(disk.home / "old")
    with durable.writing(disk.home / "other", new=True, mode=0o644) as file:
        file.write(b"other")
    assert sorted(path.name for path in disk.home.iterdir()) == ["old", "other"]
    assert (disk() / "other").read_bytes() == b"other"
    assert (disk.home / "other").stat().st_mode & 0o777 == 0o644


def test_folders_are_there_with_those_above_them(disk: Disk) -> None:
    durable.make_folder(disk.home / "a" / "b" / "c")
    with durable.writing(disk.home / "a" / "b" / "c" / "file") as file:
        file.write(b"x")
    assert (disk() / "a" / "b" / "c" / "file").read_bytes() == b"x"


def test_a_file_of_another_writer_is_put_in_place(disk: Disk) -> None:
    (disk.home / "made").write_bytes(b"made")
    durable.replace(disk.home / "made", disk.home / "old")
    assert {path.name: path.read_bytes() for path in disk().iterdir()} == {"old": b"made"}
    durable.remove([disk.home / "old", disk.home / "missing"])
    assert list(disk().iterdir()) == []


def test_a_failure_changes_nothing(disk: Disk) -> None:
    with pytest.raises(TypeError), durable.writing(disk.home / "old") as file:
        file.write("text")  # type: ignore[call-overload]
    failing = mock.patch.object(os, "fsync", side_effect=OSError(28, "No space left on device"))
    with failing, pytest.raises(OSError, match="No space left") as caught, durable.writing(disk.home / "old") as file:
        file.write(b"new")
    assert caught.value.filename == str(disk.home / "old")
    assert [path.name for path in disk.home.iterdir()] == ["old"]
    assert (disk.home / "old").read_bytes() == b"old"


def test_a_folder_has_its_mode_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        durable.make_folder(tmp_path / "a" / "b", mode=0o755)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o755, 0o755]
