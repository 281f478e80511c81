"""Child processes as their owners see them: how they start, what they get, and how their end is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from penstock.children.frames import Bounds, FrameTooLarge
from penstock.children.process import OUT_OF_MEMORY, ChildProcess, Exit, base_environment

PROGRAM = """
import os, signal, struct, subprocess, sys
from pathlib import Path
from penstock.children.frames import Bounds, Channel
from penstock.children.serving import confine_to, end_with_owner, ignore_interrupts
channel = Channel.inherited(int(sys.argv[1]), Bounds(head=1000))
if sys.argv[2] == "confined":
    confine_to(os.environ, read=[], write=[Path(os.environ["TMPDIR"])])
end_with_owner()
ignore_interrupts()
while True:
    request = channel.receive()[0].decode()
    if request == "floods":
        os.write(channel.fileno(), struct.pack(">II", 2**32 - 1, 2**32 - 1))
    elif request == "leaves":
        channel.send(str(subprocess.Popen(["sleep", "600"]).pid).encode())
        os._exit(0)
    elif request.startswith("exits"):
        os._exit(int(request.split()[1]))
    elif request.startswith("signals"):
        os.kill(os.getpid(), int(request.split()[1]))
    elif request.startswith("writes"):
        try:
            Path(request.split()[1]).touch()
            channel.send(b"written")
        except PermissionError:
            channel.send(b"denied")
    else:
        channel.send(str({name: value for name, value in os.environ.items()}).encode(), request.encode())
"""
Start = Callable[..., ChildProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    children = []

    def started(how: str = "free", *, own_session: bool = True) -> ChildProcess:
        children.append(
            ChildProcess(
                [sys.executable, str(program)],
                how,
                environment=base_environment(),
                bounds=Bounds(head=10_000, body=100),
                own_session=own_session,
                scratch="penstock-test-",
            )
        )
        return children[-1]

    yield started
    for child in children:
        child.close()


def test_a_child_answers_and_gets_no_secrets(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    child = start()
    child.channel.send(b"hello")
    environment, request = child.channel.receive(30)
    assert request == b"hello"
    assert b"secret" not in environment
    scratch = child.scratch
    assert scratch is not None
    assert str(scratch).encode() in environment
    child.close()
    assert not scratch.exists()
    assert not psutil.pid_exists(child.pid)


@pytest.mark.parametrize(
    ("request_", "words", "what"),
    [
        ("exits 3", "exit status 3", "failed by itself"),
        (f"exits {OUT_OF_MEMORY}", "out of memory", "out of memory"),
        (f"signals {signal.SIGKILL:d}", "signal SIGKILL", "out of memory"),
        (f"signals {signal.SIGSEGV:d}", "signal SIGSEGV", ""),
        (f"signals {signal.SIGPROF:d}", "signal SIGPROF", "out of time"),
    ],
)
def test_the_end_of_a_child_is_told_as_what_it_was(start: Start, request_: str, words: str, what: str) -> None:
    child = start()
    child.channel.send(request_.encode())
    with pytest.raises((EOFError, ConnectionError)):
        child.channel.receive(30)
    ended = child.ended(30)
    assert str(ended) == f"the process ended: {words}"
    assert ended.exit.out_of_memory == (what == "out of memory")
    assert ended.exit.out_of_time == (what == "out of time")
    assert ended.exit.failed_by_itself == (what == "failed by itself")


def test_a_child_that_closes_its_socket_and_stays_is_killed(start: Start) -> None:
    child = start()
    assert str(child.ended(0.01)) == "the process ended: no answer"
    assert child.wait(30) == Exit(-signal.SIGKILL)
    assert not child.running


def test_what_a_child_leaves_behind_ends_with_it(start: Start) -> None:
    child = start()
    child.channel.send(b"leaves")
    left = psutil.Process(int(child.channel.receive(30)[0]))
    assert child.wait(30) == Exit(0)
    assert psutil.wait_procs([left], timeout=30)[1] == []


def test_a_flood_is_refused_and_costs_nothing(start: Start) -> None:
    child = start()
    child.channel.send(b"floods")
    with pytest.raises(FrameTooLarge, match="4,294,967,295"):
        child.channel.receive(30)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux confines processes")
def test_a_confined_child_writes_to_its_own_folder_alone(start: Start, tmp_path: Path) -> None:
    child = start("confined")
    answers = []
    for folder in (child.scratch, tmp_path):
        child.channel.send(f"writes {folder}/file".encode())
        answers.append(child.channel.receive(30)[0])
    assert answers == [b"written", b"denied"]


def test_children_have_a_group_of_their_own_and_a_session_where_that_is_wanted(start: Start) -> None:
    apart, beside = start(), start(own_session=False)
    assert [os.getpgid(child.pid) for child in (apart, beside)] == [apart.pid, beside.pid]
    assert [os.getsid(child.pid) for child in (apart, beside)] == [apart.pid, os.getsid(0)]


def test_a_command_that_does_not_exist_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        ChildProcess(["/no/such/program"], environment={}, bounds=Bounds(head=1), scratch="penstock-test-")
    assert list(tmp_path.iterdir()) == []


def test_a_child_ends_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    owner = (
        "import sys, time; from penstock.children.process import *; from penstock.children.frames import Bounds\n"
        "child = ChildProcess([sys.executable, sys.argv[1]], 'free', environment={}, bounds=Bounds(head=10))\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-P", "-c", owner, str(tmp_path / "program.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.kill()
    assert psutil.wait_procs([child], timeout=30)[1] == []
