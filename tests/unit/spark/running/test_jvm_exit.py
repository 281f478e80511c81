"""How a JVM's end is told."""

import subprocess
import sys

import pytest

from penstock.spark.jvm import Jvm, JvmExit


@pytest.mark.parametrize(
    ("status", "memory", "cause"),
    [
        (-9, False, "was killed by signal 9 (SIGKILL)"),
        (
            -9,
            True,
            "was killed by signal 9 (SIGKILL), when the kernel killed a process because the machine's memory ran out",
        ),
        (-6, True, "was killed by signal 6 (SIGABRT)"),
        (-99, False, "was killed by signal 99"),
        (3, False, "ended with exit code 3: its heap is used up (OutOfMemoryError)"),
        (1, False, "ended with exit code 1"),
    ],
)
def test_the_cause_names_signal_or_exit_code(status: int, memory: bool, cause: str) -> None:
    assert JvmExit(7, status, memory).cause == cause


def test_a_lost_connection_is_given_time_to_become_an_exit_and_other_errors_are_not() -> None:
    # It ends after its connections do, as a JVM with a large heap.
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3); raise SystemExit(3)"]) as process:
        jvm = Jvm(process)
        own = ValueError("about the data, and its own cause")
        own.__cause__ = own
        assert jvm.exit_behind(own) is None
        lost = RuntimeError("a call failed")
        lost.__cause__ = ConnectionRefusedError()
        jvm_exit = jvm.exit_behind(lost)
    assert jvm_exit is not None
    assert (jvm_exit.process, jvm_exit.status) == (process.pid, 3)
