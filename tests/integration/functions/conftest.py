"""What the tests of functions share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer
from tests.integration.functions.runs import FunctionRun, kafka_access


@pytest.fixture(scope="session")
def access(penstock_server: RunningServer, broker: Broker) -> dict[str, Any]:
    """The broker as a mapping's source."""
    return kafka_access(penstock_server, broker)


@pytest.fixture
def function(tmp_path: Path, penstock_server: RunningServer) -> Iterator[FunctionRun]:
    """A function that is not started yet."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    run = FunctionRun(tmp_path, inherited | penstock_server.environment())
    yield run
    run.kill_left()
