"""Locks on files: one holder, freed by the kernel, and nothing changed by those who only try or ask."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.locks import file_lock, is_locked

HOLDER = """
import sys
from pathlib import Path
from penstock.locks import file_lock
lock = file_lock(Path(sys.argv[1])).acquire()
Path(sys.argv[1]).write_text("its holder")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds ``lock`` in the test's folder until its input ends."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_a_lock_has_one_holder_and_who_tries_leaves_its_file_alone(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    file = tmp_path / "lock"
    for _ in range(2):
        with pytest.raises(TimeoutError):
            file_lock(file).acquire()
        assert file.read_text() == "its holder"
    assert is_locked(file)


def test_a_killed_holder_leaves_no_lock(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path / "lock")
    with file_lock(tmp_path / "lock"):
        assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")


def test_who_waits_gets_it_when_the_holder_ends(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    lock = file_lock(tmp_path / "lock", patience=60)
    assert holder.stdin is not None
    holder.stdin.close()
    with lock:
        assert lock.is_locked


def test_two_locks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    with file_lock(tmp_path / "lock"), pytest.raises(TimeoutError):
        file_lock(tmp_path / "lock").acquire()


def test_asking_makes_no_file_and_needs_no_leave_to_write(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "lock")
    assert list(tmp_path.iterdir()) == []


def test_two_who_ask_at_once_do_not_take_each_other_for_the_holder(tmp_path: Path) -> None:
    import fcntl

    file = tmp_path / "lock"
    file.touch()
    with file.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert not is_locked(file)


def test_a_lock_is_its_owners_alone_unless_several_users_share_it(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        for shared, mode in ((False, 0o600), (True, 0o664)):
            with file_lock(tmp_path / str(shared), shared=shared):
                assert (tmp_path / str(shared)).stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("another's")
    (tmp_path / "lock").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="symbolic links"):
        file_lock(tmp_path / "lock").acquire()
