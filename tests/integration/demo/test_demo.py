"""The demo at a small scale: the same nine steps, and an account that has to be exact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.jvm
@pytest.mark.spark
@pytest.mark.timeout(600)
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
    assert "gate" in said
    assert "distance" in said
    committed = [json.loads(line) for line in (home / "logs" / "flights-metrics.jsonl").read_text().splitlines()]
    assert any(set(line["versions"]) == {"1", "2"} for line in committed)
    # Nothing of the platform is left.
    assert not [pid for pid in _processes() if str(home) in pid]


def _processes() -> list[str]:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
