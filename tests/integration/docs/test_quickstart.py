"""The quickstart does what it says: its blocks run in order, in one shell, as a reader would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.local.ports import free_ports
from penstock.settings.home import Home, PlatformConfig

QUICKSTART = Path(__file__).parents[3] / "docs" / "quickstart.md"


def _script(text: str) -> str:
    parts = ["set -euo pipefail"]
    for language, block in re.findall(r"```(bash|python)\n(.*?)```", text, re.DOTALL):
        parts.append(block if language == "bash" else f"python - <<'PYTHON'\n{block}PYTHON")
    return "\n".join(parts)


@pytest.mark.jvm
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_every_block_of_the_quickstart_runs(tmp_path: Path) -> None:
    home = Home(tmp_path / ".penstock")
    server, s3, kafka, controller = free_ports(4)
    home.save(PlatformConfig.generate(server_port=server, s3_port=s3, kafka_port=kafka, controller_port=controller))
    # Only what a reader's shell has: nothing of this machine's AWS settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    environment |= {name: os.environ[name] for name in ("PENSTOCK_CACHE",) if name in os.environ}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    script = _script(QUICKSTART.read_text())
    try:
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500, check=False
        )
    finally:
        subprocess.run(["penstock", "down", "--home", str(home.root)], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "version 2 AVAILABLE" in said
    assert "version 3 FAILURE" in said
    assert "vat" in said
    assert re.search(r"\b1500\b", said), said
