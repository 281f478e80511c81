"""The page of Glue's library is what its tool writes from the rows."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_written_from_the_rows() -> None:
    command = [sys.executable, str(ROOT / "tools/glue-library"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
