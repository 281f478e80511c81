"""The page of types is what its tool writes from the adapters."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_written_from_the_adapters() -> None:
    command = [sys.executable, str(ROOT / "tools/lake-types"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
