"""Every benchmark runs, as small as it can be: its figures do not matter here, only that nothing in it has rotted."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.__main__ import SUITES

_ROOT = Path(__file__).parents[3]
_SPARK = (("durability", "decode"), ("pipeline",), ("compact",))
"""Those with a Spark, by the JVM that they can share: its lake and class path are those of the first."""
_PYTHON = [name for name in SUITES if not any(name in item for item in _SPARK)]


@pytest.mark.parametrize(
    "suites",
    [
        pytest.param(_PYTHON, id="python"),
        *(pytest.param(item, id=item[0], marks=[pytest.mark.jvm, pytest.mark.spark]) for item in _SPARK),
    ],
)
def test_every_benchmark_runs(suites: Sequence[str], tmp_path: Path) -> None:
    environment = {**os.environ, "PENSTOCK_BENCH_SMALL": "1", "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *suites],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    rows = (tmp_path / "bench-results.md").read_text().splitlines()[2:]
    assert len(rows) >= len(suites)
    assert all(row.count("|") == 7 for row in rows)
