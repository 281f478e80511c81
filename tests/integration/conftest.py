"""The real parts that integration tests share: each is started once a session, on free ports, and never outlives it."""

from collections.abc import Iterator

import pytest

from penstock.local.broker import Broker
from penstock.local.ports import free_ports


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running Kafka broker; ``broker.client_settings`` are librdkafka's settings to reach it."""
    port, controller_port = free_ports(2)
    folder = tmp_path_factory.mktemp("broker")
    with Broker(folder=folder, port=port, controller_port=controller_port, password="integration-tests") as running:
        yield running
