"""The page on derived schemas works: its blocks run in order, in one shell, against a real server."""

import re
from pathlib import Path

from penstock.testing.server import running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "registry" / "schema-from-data.md"


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        done = run_page(PAGE, tmp_path, reader_environment() | server.environment(), seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert said.count("wrote ") == 3
    assert "1\tAVAILABLE\n2\tAVAILABLE\n" in said
    run = re.sub(r"^```(bash|python)\n.*?^```$", "", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^```\n(.*?)^```$", run, re.DOTALL | re.MULTILINE)
    assert len(shown) == 4
    for line in (line for block in shown[:3] for line in block.splitlines()):
        for part in line.split("..."):
            assert part.strip() in said
