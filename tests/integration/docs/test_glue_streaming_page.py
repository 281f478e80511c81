"""The page on Glue's streaming scripts works: its blocks run in order, against a real broker and server."""

import json
import re
from pathlib import Path

import pytest

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer
from tests.integration.docs.pages import reader_environment, run_page

pytestmark = [pytest.mark.jvm, pytest.mark.spark]

PAGE = Path(__file__).parents[3] / "docs" / "pipelines" / "glue-streaming.md"


def test_every_block_of_the_page_runs(tmp_path: Path, broker: Broker, penstock_server: RunningServer) -> None:
    login = json.dumps({"username": broker.username, "password": broker.password})
    penstock_server.client("secretsmanager").create_secret(Name="AmazonMSK_glue_page", SecretString=login)
    environment = reader_environment() | penstock_server.environment()
    environment |= {"PENSTOCK_BROKERS": broker.bootstrap, "PENSTOCK_SECRET_ID": "AmazonMSK_glue_page"}
    environment |= {"PENSTOCK_LAKE": str(penstock_server.lake), "PENSTOCK_HOME": str(tmp_path / "home")}
    environment |= {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}  # for a JVM that does not live long
    done = run_page(PAGE, tmp_path, environment, seconds=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "INFO awsglue.script: batch 0: 4 slow clicks" in done.stderr
    prose = re.sub(r"^```(bash|python)\n.*?^```$", "", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^```\n(.*?)^```$", prose, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    for line in (line for block in shown for line in block.splitlines()):
        assert line in done.stdout
