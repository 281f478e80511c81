"""The page on Confluent's clients does what it says: its blocks run in order, in one shell, against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from penstock.testing.server import RunningServer, running_server

PAGE = Path(__file__).parents[3] / "docs" / "confluent.md"


def _script(text: str) -> str:
    parts = ["set -euo pipefail"]
    for language, block in re.findall(r"```(bash|python)\n(.*?)```", text, re.DOTALL):
        parts.append(block if language == "bash" else f"python - <<'PYTHON'\n{block}PYTHON")
    return "\necho\n".join(parts)


def _login(server: RunningServer) -> str:
    return f"{server.access_key_id}:{server.secret_access_key}"


def _fill(server: RunningServer) -> None:
    client = SchemaRegistryClient({"url": server.endpoint_url, "basic.auth.user.info": _login(server)})
    client.register_schema("old-value", Schema('"string"', "AVRO"))
    client.close()


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "new") as server, running_server(tmp_path / "old") as old:
        _fill(old)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
        environment |= server.environment()
        environment["SCHEMA_REGISTRY_URL"] = server.endpoint_url
        environment["SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = _login(server)
        environment["OLD_REGISTRY_URL"] = old.endpoint_url
        environment["PENSTOCK_FROM_USER_INFO"] = _login(old)
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
    assert '"subject":"orders-value","version":1,"id":1' in said
    assert "{'id': 1, 'vat': 0.2} by version 2" in said
    assert "schema/team/eu$2Forders [':.team:eu/orders']" in said
    assert "409 Schema being registered is incompatible" in said
    assert "TYPE_MISMATCH at /id" in said
    assert "1 versions of 1 subjects: 1 copied" in said
    assert '[":.moved:old-value"]' in said
    assert '[{"subject":":.byhand:payments-value","version":7}]' in said
