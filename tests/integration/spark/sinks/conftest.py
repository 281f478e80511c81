"""The services that sinks write to, one of each for all tests of this folder."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.local.broker import Broker
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.kinesis_server import KinesisServer
from penstock.testing.postgres import PostgresServer, running_postgres
from tests.integration.spark.sinks.database import DatabaseTarget, as_redshift
from tests.integration.spark.sinks.items import ItemsTarget
from tests.integration.spark.sinks.streams import StreamTarget
from tests.integration.spark.sinks.topics import TopicTarget


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def spark_utc(spark: SparkSession) -> SparkSession:
    """The session as the runner configures it, with few tasks for little data."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return spark


@pytest.fixture
def postgresql_target(postgres: PostgresServer) -> DatabaseTarget:
    return DatabaseTarget(postgres.new_database())


@pytest.fixture
def redshift_target(postgres: PostgresServer) -> DatabaseTarget:
    target = DatabaseTarget(postgres.new_database(), "redshift")
    as_redshift(target)
    return target


@pytest.fixture
def items_target(dynamodb: DynamoDBLocal) -> ItemsTarget:
    return ItemsTarget(dynamodb)


@pytest.fixture
def plain_items_target(dynamodb: DynamoDBLocal) -> ItemsTarget:
    """Written without conditions."""
    return ItemsTarget(dynamodb, conditional=False)


@pytest.fixture
def topic_target(broker: Broker, spark_utc: SparkSession) -> TopicTarget:
    return TopicTarget(broker, spark_utc)


@pytest.fixture
def kinesis_target(kinesis_server: KinesisServer, spark_utc: SparkSession, monkeypatch: pytest.MonkeyPatch) -> StreamTarget:
    for name, value in {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    return StreamTarget(kinesis_server, spark_utc)
