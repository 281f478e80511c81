"""The page on comparing versions works: its blocks run in order, in one shell, against a real server."""

from pathlib import Path

from penstock.testing.server import running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "registry" / "schema-diff.md"


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        done = run_page(PAGE, tmp_path, reader_environment() | server.environment(), seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    shown = PAGE.read_text().split("```\n2 changes")[1].split("```")[0].splitlines()
    for line in shown:
        assert line.removesuffix("...") in said, done.stdout + done.stderr
    assert '      "type": "int"                              |       "type": "string"' in said
    assert "default-registry/sensor version 1 and sensor.avsc are the same AVRO schema." in said
    assert "changed /level int long ['FORWARD', 'FORWARD_ALL', 'FULL', 'FULL_ALL']" in said
    assert "~ changed field at /Flight/id: int32 id = 1 -> int64 id = 1\n    compatible in every mode" in said
    assert "~ changed field at /Flight/door: string gate = 2 -> string door = 2" in said
    assert said.count("ended with 1") == 3
