"""The pages on Kafka in Python and Java and on Kinesis do what they say: their blocks run in order, against real parts."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.local.broker import Broker
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.server import RunningServer, running_server
from tests.integration.docs.pages import reader_environment, run_page
from tests.integration.java_source import java_program

DOCS = Path(__file__).parents[3] / "docs" / "clients"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One of its own: the pages use the default registry."""
    with running_server(tmp_path_factory.mktemp("pages") / "home") as running:
        yield running


def environment(server: RunningServer) -> dict[str, str]:
    return reader_environment() | server.environment()


def run(page: str, folder: Path, given: dict[str, str]) -> str:
    done = run_page(DOCS / page, folder, given, seconds=150)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.jvm
def test_kafka_in_python(server: RunningServer, broker: Broker, tmp_path: Path) -> None:
    login = {"username": broker.username, "password": broker.password}
    server.client("secretsmanager").create_secret(Name="AmazonMSK_pages", SecretString=json.dumps(login))
    given = {"PENSTOCK_BROKERS": broker.bootstrap, "PENSTOCK_SECRET_ID": "AmazonMSK_pages"}
    said = run("kafka-python.md", tmp_path, environment(server) | given)
    assert "cust-789 1 2026-11-21T00:00:00+00:00" in said
    assert "{'id': 7, 'delay': 1e-05}" in said
    assert "missing-field value.id | value.id is missing: the schema requires it. (schema default-registry/event" in said
    assert "{'id': '7', 'tags': ['new']}" in said
    assert "STOCKOUT" in said
    assert "{'sku': 'a', 'cents': 5, 'currency': 'EUR'}, {'sku': 'b', 'cents': 1099511627776, 'currency': 'USD'}" in said
    assert said.rstrip().endswith("10")


def test_kinesis(server: RunningServer, kinesis: KinesisStandIn, tmp_path: Path) -> None:
    said = run("kinesis.md", tmp_path, environment(server) | kinesis.environment())
    assert "99 put" in said
    counts = [int(count) for count in re.findall(r"shardId-00000000000[01] (\d+) cust-", said)]
    assert (len(counts), sum(counts)) == (2, 100)
    assert re.search(r"\b[1-9] records for 1,000", said)
    assert "True\nFalse\n" in said
    assert "Order.amount is 'much'" in said


@pytest.mark.jvm
def test_kafka_in_java(server: RunningServer, tmp_path: Path) -> None:
    page = (DOCS / "kafka-java.md").read_text()
    (program,) = re.findall(r"```java\n(.*?)```", page, re.DOTALL)
    source = tmp_path / "Orders.java"
    source.write_text(program)
    command = [*java_program(source, tmp_path / "classes"), "Orders"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | server.environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Java reads {"id": 1, "amount": 99.99}' in done.stdout
    said = run("kafka-java.md", tmp_path, environment(server))
    assert "Python reads {'id': 1, 'amount': 99.99}" in said
