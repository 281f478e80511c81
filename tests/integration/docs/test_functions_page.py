"""The page on functions works: its blocks run in order, in one shell, against a real broker and server."""

import json
from pathlib import Path

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "pipelines" / "functions.md"


def test_every_block_of_the_page_runs(tmp_path: Path, broker: Broker, penstock_server: RunningServer) -> None:
    login = json.dumps({"username": broker.username, "password": broker.password})
    penstock_server.client("secretsmanager").create_secret(Name="AmazonMSK_page", SecretString=login)
    environment = reader_environment() | penstock_server.environment()
    environment |= {"PENSTOCK_BROKERS": broker.bootstrap, "PENSTOCK_SECRET_ID": "AmazonMSK_page"}
    done = run_page(PAGE, tmp_path, environment, seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "Function readings (function.yaml) is declared correctly." in said
    assert "readings-0 0 21 readings" in said
    assert "5 read, 3 delivered, 1 filtered out, 1 discarded (1 to the destination), 0 given back" in said
    assert '"condition": "RetryAttemptsExhausted"' in said
    assert "is colder than possible" in said
    counts = json.loads(said.strip().splitlines()[-1])
    assert (counts["PolledEventCount"], counts["DeliveredEventCount"]) == (5, 3)
