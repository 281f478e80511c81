"""Handlers over stores in memory."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.api.aws.protocol.dispatch import AwsApp
from tests.unit.api.aws.every_operation import ACCOUNT, World, fill, start
from tests.unit.api.aws.loopback import Silent, loopback_client


@pytest.fixture
def every_client(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """A function that returns boto3's client of a service, answered without authentication by all handlers of a server."""
    made = start(tmp_path)
    app = AwsApp(made.endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())
    yield partial(loopback_client, app=app)
    app.close()
    made.services.close()


@pytest.fixture
def client(every_client: Callable[[str], Any]) -> Callable[[str], Any]:
    """See :func:`every_client`."""
    return every_client


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = start(tmp_path)
    fill(made)
    yield made
    made.services.close()
