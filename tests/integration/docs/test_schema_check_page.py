"""The page on checking definitions does what it says: its blocks run in order, in one shell, against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

from penstock.testing.server import running_server

PAGE = Path(__file__).parents[3] / "docs" / "schema-check.md"


def _script(text: str) -> str:
    parts = ["set -euo pipefail"]
    for language, block in re.findall(r"```(bash|python)\n(.*?)```", text, re.DOTALL):
        parts.append(block if language == "bash" else f"python - <<'PYTHON'\n{block}PYTHON")
    return "\n".join(parts)


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
        environment |= server.environment()
        environment["SCHEMA_REGISTRY_URL"] = server.endpoint_url
        environment["SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = f"{server.access_key_id}:{server.secret_access_key}"
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-c", _script(PAGE.read_text())],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "flight.avsc is INCOMPATIBLE with default-registry/flights under BACKWARD (compared with version 1)." in said
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /gate" in said
    assert "ended with 1" in said
    assert "flight.avsc is compatible with default-registry/flights under FORWARD" in said
    assert '"result": "incompatible"' in said
    assert "read {'id': 1} {'id': 2}" in said
