"""The queue of an SQLite file's writers: one at a time in all processes, and free when a process dies."""

import contextlib
import fcntl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct
from penstock.store.sql.queue import WritersQueue

HOLD = """
import sys
from penstock.store.sql.queue import WritersQueue
with WritersQueue(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "penstock.db-queue")


def is_free(path):
    with Path(path).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_thread_may_take_it_again(path):
    with contextlib.closing(WritersQueue(path)) as queue:
        with queue:
            with queue:
                pass
            assert not is_free(path)
        assert is_free(path)


def test_a_process_that_is_killed_holds_nobody_up(path):
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert not is_free(path)
        holder.kill()
        with contextlib.closing(WritersQueue(path)) as queue, queue:
            assert not is_free(path)


def test_what_fails_within_leaves_it_free(path):
    with contextlib.closing(WritersQueue(path)) as queue:
        with pytest.raises(ZeroDivisionError), queue:
            _ = 1 / 0
        assert is_free(path)
    with pytest.raises(FileNotFoundError), WritersQueue(path.replace("penstock.db", "no/folder")):
        pass


def test_threads_of_one_process_take_turns(path):
    inside, met = [], []

    def write():
        for _ in range(50):
            with queue:
                inside.append(1)
                met.append(len(inside))
                inside.pop()

    with contextlib.closing(WritersQueue(path)) as queue:
        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert met == [1] * 200


def test_writers_of_a_database_queue(path):
    database = Database(f"sqlite:///{path.removesuffix('-queue')}")
    with contextlib.closing(database):
        for write in (database.write, Direct(database).write):
            with write():
                assert not is_free(path)
            assert is_free(path)
