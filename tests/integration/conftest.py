"""The real parts that integration tests share: each is started once a session, on free ports, and never outlives it."""

from collections.abc import Iterator

import pytest

from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.testing.dynamodb import DynamoDBLocal, running_dynamodb
from penstock.testing.kinesis import KinesisStandIn, running_kinesis
from penstock.testing.kinesis_server import KinesisServer, running_kinesis_server


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running Kafka broker; ``broker.client_settings`` are librdkafka's settings to reach it."""
    port, controller_port = free_ports(2)
    folder = tmp_path_factory.mktemp("broker")
    with Broker(folder=folder, port=port, controller_port=controller_port, password="integration-tests") as running:
        yield running


@pytest.fixture(scope="session")
def kinesis() -> Iterator[KinesisStandIn]:
    """An empty Kinesis; ``kinesis.client()`` is boto3's client, ``kinesis.create_stream(name, shards=2)`` makes a stream."""
    with running_kinesis() as running:
        yield running


@pytest.fixture(scope="session")
def kinesis_server() -> Iterator[KinesisServer]:
    """A Kinesis of our own that reshards, has consumers of enhanced fan-out, and fails on order."""
    with running_kinesis_server() as running:
        yield running


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[DynamoDBLocal]:
    """Amazon's DynamoDB Local, empty; ``dynamodb.client()`` is boto3's client."""
    with running_dynamodb() as running:
        yield running
