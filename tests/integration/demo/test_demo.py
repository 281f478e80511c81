"""The demo at a small scale: the same nine steps, and a reconciliation that has to be exact."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest


@pytest.mark.jvm
@pytest.mark.spark
def test_the_demo_reconciles_with_evolution_damage_and_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "demo", "--records", "12000", "--home", str(home)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "Reconciliation: exact. 12,040 produced = 12,000 written + 40 dead-lettered" in said
    assert "Killed after" in said
    assert (
        "Version 3 is refused. Incompatible under BACKWARD: - reading data of version 2: TYPE_MISMATCH at /distance" in said
    )
    assert said.count("at /gate") == 1
    assert "- - " not in said
    assert "Throughput, warm: " in said
    assert "Throughput, cold: " in said
    committed = [json.loads(line) for line in (home / "logs" / "flights-metrics.jsonl").read_text().splitlines()]
    assert any(set(line["versions"]) == {"1", "2"} for line in committed)
    # Nothing of the platform is left.
    assert not [pid for pid in _processes() if str(home) in pid]


@pytest.mark.jvm
@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_demo_that_is_ended(tmp_path: Path, number: int) -> None:
    home = tmp_path / "home"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with (tmp_path / "said").open("wb") as said:
        demo = subprocess.Popen(
            [sys.executable, "-m", "penstock", "demo", "--records", "1000", "--home", str(home)],
            cwd=tmp_path,
            env=environment,
            stdout=said,
            stderr=said,
        )
    try:
        # The job is the last to start; Spark's Java is there a moment later.
        eventually(
            lambda: sum("java" in child.name() for child in children(demo.pid)) == 2, "the broker and Spark in Java", 150
        )
        started = children(demo.pid)
    finally:
        demo.send_signal(number)
        status = demo.wait(120)
    eventually(
        lambda: not [process for process in started if process.is_running() and process.status() != "zombie"],
        "all ended",
        60,
    )
    assert status == (130 if number == signal.SIGINT else -number), (tmp_path / "said").read_text()
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert not [line for line in _processes() if str(home) in line]


def children(pid: int) -> list[psutil.Process]:
    """All processes below one."""
    return psutil.Process(pid).children(recursive=True)


def eventually(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Return once ``condition`` holds; a process may end while it is looked at."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(psutil.NoSuchProcess):
            if condition():
                return
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)


def _processes() -> list[str]:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
