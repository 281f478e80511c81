"""The world of accounts, and a server without one: each once a module."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.testing.server import RunningServer, running_server
from tests.integration.accounts.accounts_world import world

__all__ = ["iam", "server", "world"]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A server; modules that need another one have a fixture of this name."""
    with running_server() as running:
        yield running


@pytest.fixture(scope="module")
def iam(server: RunningServer) -> Any:
    """IAM's client of the server's root."""
    return server.client("iam")
