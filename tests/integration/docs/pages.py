"""A page's blocks, run in order in one shell, as a reader would type them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["reader_environment", "run_page"]


def reader_environment() -> dict[str, str]:
    """What a reader's shell has: the commands of this environment, and nothing of this machine's AWS settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return environment


def run_page(
    page: Path, folder: Path, environment: Mapping[str, str], *, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run the bash and python blocks of ``page`` in ``folder``."""
    return subprocess.run(
        ["bash", "-c", _script(page.read_text())],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def _script(text: str) -> str:
    parts = ["set -euo pipefail"]
    for language, block in re.findall(r"```(bash|python)\n(.*?)```", text, re.DOTALL):
        parts.append(block if language == "bash" else f"python - <<'PYTHON'\n{block}PYTHON")
    return "\necho\n".join(parts)  # a block's output may end without a line feed
