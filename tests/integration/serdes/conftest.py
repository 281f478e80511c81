"""What the serdes' tests share: a client of the server, as users' programs make theirs, and AWS's Java serde beside it."""

from collections.abc import Iterator

import pytest

from penstock.client.registry import RegistryClient
from penstock.testing.server import RunningServer
from tests.integration.java_formats import JavaFormats, java_formats


@pytest.fixture
def at_server(penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that point any AWS client of this process at the server."""
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def source(at_server: None) -> RegistryClient:
    """The registry's client, made from the environment."""
    return RegistryClient()


@pytest.fixture(scope="module")
def java(
    request: pytest.FixtureRequest, penstock_server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaFormats]:
    """AWS's Java serde, registering what it writes in the registry that the module's ``REGISTRY`` names, made for it."""
    registry = getattr(request.module, "REGISTRY", None)
    with java_formats(penstock_server, tmp_path_factory.mktemp("java"), registry) as bridge:
        yield bridge
