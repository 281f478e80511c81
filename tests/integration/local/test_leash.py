"""A child on a leash: it ends with its owner, its log is bounded, its status is reported."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import EnvironmentProblem
from penstock.local.processes import leash
from penstock.local.processes.child import Child, Service, tail
from penstock.testing.polling import alive, eventually

# Ignores SIGTERM, has a child that does too, and writes both process ids.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
inner = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
print(os.getpid(), inner.pid, flush=True)
time.sleep(600)
"""

# Owns a child as the platform does, and then only waits.
OWNER = """
import sys, time
from pathlib import Path
from penstock.local.processes.child import Child, Service
folder = Path(sys.argv[1])
command = [sys.executable, "-c", sys.argv[2]]
service = Service(name="x", title="x", command=lambda: command, is_ready=lambda: True, stop_grace=0.3)
child = Child(service, folder / "x.log")
child.start()
time.sleep(600)
"""


def service(code: str, **fields: Any) -> Service:
    known: dict[str, Any] = {"name": "part", "title": "part", "is_ready": lambda: True, "stop_grace": 0.3, **fields}
    return Service(command=lambda: [sys.executable, "-c", code], **known)


def written_pids(log: Path) -> list[int]:
    eventually(lambda: log.exists() and log.read_text().endswith("\n"), "the child writes its process ids")
    return [int(pid) for pid in log.read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_owner(tmp_path: Path, number: int) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path), STUBBORN])
    try:
        pids = written_pids(tmp_path / "x.log")
        assert all(alive(pid) for pid in pids)
    finally:
        owner.send_signal(number)
        owner.wait()
    eventually(lambda: not any(alive(pid) for pid in pids), "the child and its own child end")


def test_nothing_outlives_a_killed_leash(tmp_path: Path) -> None:
    child = Child(service("import os, time; print(os.getpid(), flush=True); time.sleep(600)"), tmp_path / "x.log")
    child.start()
    [pid] = written_pids(tmp_path / "x.log")
    assert child.leash_pid is not None
    os.kill(child.leash_pid, signal.SIGKILL)
    eventually(lambda: not alive(pid), "the child ends")
    child.stop()
    assert child.exit_status == -signal.SIGKILL


def test_stop_kills_what_ignores_sigterm(tmp_path: Path) -> None:
    child = Child(service(STUBBORN), tmp_path / "x.log")
    child.start()
    pids = written_pids(tmp_path / "x.log")
    child.stop()
    assert child.exit_status == 128 + signal.SIGKILL
    assert not any(alive(pid) for pid in pids)


def test_stop_leaves_time_for_a_clean_end(tmp_path: Path) -> None:
    code = "import signal, sys, time; signal.signal(15, lambda *_: (print('bye'), sys.exit(7)))"
    code += "; print('up', flush=True); time.sleep(600)"
    child = Child(service(code, stop_grace=30), tmp_path / "x.log")
    child.start()
    eventually(lambda: tail(tmp_path / "x.log") == "up", "the child is up")
    child.stop()
    assert (child.exit_status, tail(tmp_path / "x.log")) == (7, "up\nbye")


def test_leftover_grandchildren_end_with_their_parent(tmp_path: Path) -> None:
    code = (
        "import subprocess as s, sys; print(s.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)"
    )
    child = Child(service(code), tmp_path / "x.log")
    child.start()
    [pid] = written_pids(tmp_path / "x.log")
    eventually(lambda: not child.running, "the leash ends with its child")
    eventually(lambda: not alive(pid), "the grandchild ends")
    child.stop()


def test_a_service_that_dies_shows_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child(service("print('cannot find the thing'); raise SystemExit(5)", is_ready=lambda: False), tmp_path / "x.log")
    child.start()
    with pytest.raises(
        EnvironmentProblem, match=r"The part ended with status 5 before it was ready.*\ncannot find the thing\n"
    ):
        child.wait_ready()
    child.stop()


def test_a_service_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    child = Child(service("import time; time.sleep(600)", is_ready=lambda: False, start_timeout=0.2), tmp_path / "x.log")
    child.start()
    with pytest.raises(EnvironmentProblem, match="was not ready after 0 s"):
        child.wait_ready()
    child.stop()


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    child = Child(
        Service(name="x", title="part", command=lambda: ["/does/not/exist"], is_ready=lambda: False), tmp_path / "x.log"
    )
    child.start()
    with pytest.raises(EnvironmentProblem, match="/does/not/exist does not start"):
        child.wait_ready()
    child.stop()


def test_the_log_is_bounded_and_keeps_its_end(tmp_path: Path) -> None:
    log, lines, limit = tmp_path / "x.log", 5000, 10_000
    code = f"for i in range({lines}): print('line', i)"
    read, write = os.pipe()
    command = [
        sys.executable,
        "-I",
        leash.__file__,
        str(os.getpid()),
        str(log),
        str(limit),
        "1",
        "--",
        sys.executable,
        "-c",
        code,
    ]
    with os.fdopen(read, "rb") as held, os.fdopen(write, "wb"):
        assert subprocess.run(command, stdin=held, check=False).returncode == 0
    # One write is at most a pipe's worth, 64 KiB, so that a log may be that much over.
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2 * (limit + 65536)
    assert tail(log, 1) == f"line {lines - 1}"
    assert log.with_name("x.log.1").exists()
