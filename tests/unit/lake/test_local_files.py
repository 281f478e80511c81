"""The files of this machine: the suite of every file system, and what a power loss leaves of them."""

import os
import stat
from pathlib import Path

import pytest

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.lake.files import FileSystem
from penstock.lake.local_files import LocalFiles
from penstock.testing.powerloss import ForgetfulDisk, after_power_loss
from penstock.testing.suites import FileSystemSuite


class TestLocalFiles(FileSystemSuite):
    @pytest.fixture
    def files(self) -> FileSystem:
        return LocalFiles()

    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(tmp_path / "folder")


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths that were synced, in order; a disk that forgets the rest notes them below ``notes``."""
    (tmp_path / "disk").mkdir()
    disk = ForgetfulDisk(tmp_path / "disk", tmp_path / "notes")
    real, found = os.fsync, []

    def fsync(descriptor: int) -> None:
        real(descriptor)
        found.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        disk.synced(found[-1])

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def left(tmp_path: Path) -> dict[str, bytes]:
    """What the disk has after a power loss."""
    target = tmp_path / f"left-{len(list(tmp_path.iterdir()))}"
    after_power_loss(tmp_path / "notes", target)
    return {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}


def test_a_written_file_is_on_the_disk_with_its_new_folders(tmp_path: Path, synced: list[Path]) -> None:
    LocalFiles().write(f"{tmp_path}/disk/a/b/file", b"content")
    assert left(tmp_path) == {"a/b/file": b"content"}
    assert synced


def test_a_moved_file_is_on_the_disk_after_a_sync_also_in_new_folders(tmp_path: Path, synced: list[Path]) -> None:
    files, disk = LocalFiles(), tmp_path / "disk"
    for number in range(2):
        (disk / "staged").write_bytes(b"content")
        files.move(f"{disk}/staged", f"{disk}/table/day={number}/file")
        files.sync([f"{disk}/table/day={number}/file"], below=f"{disk}/table")
        assert left(tmp_path) == {f"table/day={index}/file": b"content" for index in range(number + 1)}
        if number:
            assert disk not in synced  # the table's own entry is durable since the first one
        synced.clear()


def test_a_folder_that_was_removed_and_made_again_is_linked_again(tmp_path: Path, synced: list[Path]) -> None:
    files, disk = LocalFiles(), tmp_path / "disk"
    for content in (b"first", b"second"):
        files.write(f"{disk}/a/b/file", content)
        assert left(tmp_path) == {"a/b/file": content}
        files.delete(f"{disk}/a")
        durable.sync(disk)
        assert left(tmp_path) == {}
    assert synced


def test_files_and_folders_have_the_modes_of_the_umask(tmp_path: Path) -> None:
    LocalFiles().write(f"{tmp_path}/folder/file", b"")
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "folder" / "file").stat().st_mode) == 0o600


def test_what_the_disk_refuses_is_an_error_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EnvironmentProblem, match="file"):
        LocalFiles().write(f"{tmp_path}/file/below", b"")
