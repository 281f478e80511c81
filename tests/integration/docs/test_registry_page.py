"""The page on the registry works: its blocks run in order, in one shell, against a real server."""

import json
from pathlib import Path

from penstock.testing.server import running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "registry" / "registry.md"


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    # In the folder of the store.
    with running_server(tmp_path / ".penstock") as server:
        done = run_page(PAGE, tmp_path, reader_environment() | server.environment(), seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    (text,) = (line for line in lines if line.startswith('{"fields"'))
    assert json.loads(text)["fields"][0]["type"]["name"] == "com.acme.Customer"
    (patch,) = (json.loads(line) for line in lines if line.startswith("["))
    assert [(step["op"], step["path"], step["value"]) for step in patch] == [("replace", "/fields/0/type", "string")]
    assert "TYPE_MISMATCH at /id" in patch[0]["penstock:refused"][0]["verdict"]
    assert "RegisterSchemaVersion\troot" in lines
    assert any("CreateSchema  schema/sales/order  AVRO BACKWARD" in line for line in lines)
    assert sum(line.startswith("3 versions: 3 added, 0 not.") for line in lines) == 2
    assert any("rows from monday.bak" in line for line in lines)
