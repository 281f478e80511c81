"""The pages of Glue's library and of its options are what their tools write from the rows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("tool", ["glue-library", "glue-options"])
def test_the_page_is_written_from_the_rows(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / tool), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
