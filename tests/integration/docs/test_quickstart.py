"""The quickstart works: its blocks run in order, in one shell, as a reader would type them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from penstock.local.processes.ports import free_ports
from penstock.settings.home import Home, PlatformConfig
from tests.integration.docs.pages import reader_environment, run_page

QUICKSTART = Path(__file__).parents[3] / "docs" / "quickstart.md"


@pytest.mark.jvm
@pytest.mark.spark
def test_every_block_of_the_quickstart_runs(tmp_path: Path) -> None:
    home = Home(tmp_path / ".penstock")
    server, s3, kafka, controller = free_ports(4)
    home.save(PlatformConfig.generate(server_port=server, s3_port=s3, kafka_port=kafka, controller_port=controller))
    environment = reader_environment()
    environment |= {name: os.environ[name] for name in ("PENSTOCK_CACHE",) if name in os.environ}
    try:
        done = run_page(QUICKSTART, tmp_path, environment, seconds=500)
    finally:
        subprocess.run(["penstock", "down", "--home", str(home.root)], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "version 2 AVAILABLE" in said
    assert "version 3 FAILURE" in said
    assert "vat" in said
    assert re.search(r"\b1500\b", said), said
