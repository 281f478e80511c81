"""A process that has confined itself tries what is closed to it, and what is not."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.sandbox import landlock, program_files, seccomp
from penstock.sandbox.confinement import Confinement, is_possible, overlaps
from penstock.sandbox.program_files import needed_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux confines processes")

# It confines itself, and prints for each attempt the number of the error, 0 without one.
PROGRAM = """
import ctypes, json, os, pathlib, socket, sys
from penstock.sandbox.confinement import Confinement, confine
from penstock.sandbox import seccomp
from penstock.sandbox.syscalls import NUMBERS

given = json.loads(sys.argv[1])
confine(Confinement.of(given["confinement"]))
found = {}
libc = ctypes.CDLL(None, use_errno=True)

def attempt(name, what):
    try:
        what()
        found[name] = 0
    except OSError as error:
        found[name] = error.errno

def raw(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")

for name in given["calls"]:
    if name in NUMBERS:
        attempt(name, lambda: raw(NUMBERS[name], 0, 0, 0, 0, 0, 0))
for name in given["times"]:
    if name in NUMBERS:
        attempt(name, lambda: raw(NUMBERS[name], 1, 1, 1, 0))
attempt("touch", lambda: pathlib.Path("touched").touch())
found["touch"] = found["touch"] or not os.path.exists("touched")
for name in ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"):
    attempt(name + " of another", lambda: raw(NUMBERS[name], given["parent"], 0, 0, 0))
attempt("setpriority of another", lambda: raw(NUMBERS["setpriority"], 0, given["parent"], 19))
attempt("prlimit64 of its own", lambda: raw(NUMBERS["prlimit64"], 0, 7, 0, 0))
attempt("clone into a namespace", lambda: raw(NUMBERS["clone"], 0x10000000 | 17, 0, 0, 0, 0))
attempt("clone3", lambda: raw(NUMBERS["clone3"], 0, 0))
attempt("type into a terminal", lambda: raw(NUMBERS["ioctl"], 0, 0x5412, 0))
for family in range(46):
    for kind in (1, 2, 3, 5):
        for protocol in (0, 6, 17, 1, 262, 132, 136):
            attempt(f"socket {family} {kind} {protocol}", lambda: socket.socket(family, kind, protocol).close())
for kind in (1, 2, 5):
    attempt(f"pair {kind}", lambda: [each.close() for each in socket.socketpair(socket.AF_UNIX, kind)])
for name, port in given["ports"].items():
    attempt(f"connect {name}", lambda: socket.create_connection(("127.0.0.1", port), 2).close())
    attempt(f"fast open {name}", lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", port)))
    attempt(f"listen {name}", lambda: socket.create_server(("127.0.0.3", port)).close())
attempt("listen anywhere", lambda: socket.create_server(("127.0.0.1", 0)).close())
for name, (path, flags) in given["files"].items():
    attempt(name, lambda: os.close(os.open(path, flags, 0o600)))
attempt("chmod", lambda: os.chmod(given["closed"], 0o777))
attempt("truncate", lambda: os.truncate(given["closed"], 0))
attempt("fork", lambda: os.waitpid(os.fork() or os._exit(0), 0))
found["status"] = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapBnd", "NoNew"))]
print(json.dumps(found))
"""


def confined(folder: Path, **further: Any) -> dict[str, Any]:
    """Return what a process came to that may write ``folder`` alone."""
    confinement = Confinement(read=needed_files(os.environ), write=(folder,), **further.pop("confinement", {}))
    given = {
        "confinement": confinement.document(),
        "calls": [],
        "times": [],
        "ports": {},
        "files": {},
        "parent": os.getpid(),
        **further,
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(given)], capture_output=True, cwd=folder, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_confined_process_is_refused_whatever_is_not_its_own(tmp_path: Path) -> None:
    own, closed = tmp_path / "own", tmp_path / "closed"
    own.mkdir()
    closed.write_text("secret")
    (own / "link").symlink_to(closed)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"open": one.getsockname()[1], "closed": other.getsockname()[1]}
        results = confined(
            own,
            confinement={"connect": (ports["open"],), "local_ports": True, "closed": (ports["closed"],)},
            calls=[*seccomp.REFUSED, *seccomp.WITHOUT_EFFECT],
            times=[*seccomp.TIMES],
            ports=ports,
            closed=str(closed),
            files={
                "read own": (str(own / "a"), os.O_RDWR | os.O_CREAT),
                "read closed": (str(closed), os.O_RDONLY),
                "write closed": (str(closed), os.O_WRONLY),
                "create beside": (str(tmp_path / "b"), os.O_WRONLY | os.O_CREAT),
                "by a link": (str(own / "link"), os.O_RDONLY),
                "by a way up": (str(own / ".." / "closed"), os.O_RDONLY),
                "shadow": ("/etc/shadow", os.O_RDONLY),
                "hosts": ("/etc/hosts", os.O_RDONLY),
                "null": ("/dev/null", os.O_RDWR),
                "memory": ("/dev/mem", os.O_RDONLY),
                "interpreter": (sys.executable, os.O_RDONLY),
                "change the interpreter": (os.path.realpath(sys.executable), os.O_WRONLY),
                "modules": (program_files.__file__, os.O_WRONLY),
                "environment of another": (f"/proc/{os.getpid()}/environ", os.O_RDONLY),
                "its own environment": ("/proc/self/environ", os.O_RDONLY),
                "kernel": ("/proc/sys/kernel/core_pattern", os.O_WRONLY),
            },
        )
    allowed = {name for name, error in results.items() if error == 0}
    assert allowed == {
        *({*seccomp.WITHOUT_EFFECT, *seccomp.TIMES} & {*results}),
        "touch",
        *("prlimit64 of its own", "pair 1", "pair 5", "connect open", "listen open", "listen anywhere", "chmod", "fork"),
        *("read own", "hosts", "null", "interpreter", "its own environment"),
        *(f"socket {family} 1 {protocol}" for family in (2, 10) for protocol in (0, 6)),
        *(f"socket {family} 2 {protocol}" for family in (2, 10) for protocol in (0, 17)),
        *("socket 16 2 0", "socket 16 3 0"),
    }
    assert {name: results[name] for name in seccomp.REFUSED if name in results and results[name] != 1} == {}
    assert closed.read_text() == "secret"
    assert closed.stat().st_mode & 0o7 != 0o7  # chmod had no effect
    assert results["status"] == ["0000000000000000", "0000000000000000", "1"]


def test_a_process_without_ports_listens_nowhere_and_connects_nowhere(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        results = confined(tmp_path, ports={"any": one.getsockname()[1]}, closed=str(tmp_path / "x"))
    assert (results["connect any"], results["listen any"], results["listen anywhere"], results["fork"]) == (13, 13, 13, 0)


def test_a_confinement_is_a_document() -> None:
    one = Confinement(
        read=(Path("/usr"),), write=(Path("/a"), Path("/b")), connect=(1, 2), local_ports=True, closed=(5432,), user=(7, 8)
    )
    assert Confinement.of(json.loads(json.dumps(one.document()))) == one


def test_what_is_private_is_found_in_what_is_open(tmp_path: Path) -> None:
    home = tmp_path / "project" / "home"
    home.mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "project")
    assert overlaps(Confinement(read=(Path("/usr"),), write=(tmp_path / "work",)), [home]) is None
    given = tmp_path / "alias"
    assert overlaps(Confinement(read=(given,)), [home]) == (home, given)


def test_a_process_with_threads_is_not_confined_by_halves() -> None:
    program = (
        "import threading\nfrom penstock.sandbox.confinement import Confinement, confine\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nconfine(Confinement())"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert "several threads cannot be confined" in done.stderr


def test_an_older_kernel_s_losses_are_told() -> None:
    assert landlock.losses(7) == landlock.losses(6) == ()
    assert [len(landlock.losses(version)) for version in range(6)] == [4, 3, 2, 2, 1, 1]
    assert "PostgreSQL" in " ".join(landlock.losses(3))


def test_the_filter_is_a_program_that_ends_on_every_way() -> None:
    """Each jump ends within the program, and no way goes on behind its last instruction."""
    code = [struct.unpack("=HBBI", part) for part in _parts(seccomp.program(truncate=False))]
    assert len(code) < 4096
    for at, (kind, yes, no, _value) in enumerate(code):
        if kind & 7 == 5:
            assert at + 1 + max(yes, no) < len(code)
    assert code[-1][0] == 6


def _parts(code: bytes) -> list[bytes]:
    return [code[at : at + 8] for at in range(0, len(code), 8)]


def test_this_machine_confines() -> None:
    """CI runs on Linux with Landlock: where it has none, the tests above would prove nothing."""
    assert is_possible()
