"""The real parts that integration tests share: each is started once a session, on free ports, and never outlives it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.testing.dynamodb import DynamoDBLocal, running_dynamodb
from penstock.testing.kinesis import KinesisStandIn, running_kinesis
from penstock.testing.kinesis_server import KinesisServer, running_kinesis_server
from penstock.testing.stores import S3Store, running_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from awsglue.context import GlueContext


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


@pytest.fixture(scope="session")
def s3_store() -> Iterator[S3Store]:
    """An S3 store that others wrote, with an empty bucket: S3Proxy, or the one that PENSTOCK_TEST_STORE names."""
    with running_store(os.environ.get("PENSTOCK_TEST_STORE") or "s3proxy") as running:
        yield running


@pytest.fixture(scope="session")
def spark_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the session's buckets; each test clears bucket ``lk``, and none clears ``tables``."""
    lake = tmp_path_factory.mktemp("lake")
    for bucket in ("lk", "tables"):
        (lake / bucket).mkdir()
    return lake


@pytest.fixture
def lake(spark_lake: Path) -> Path:
    """The lake with an empty bucket."""
    for entry in (spark_lake / "lk").iterdir():
        shutil.rmtree(entry)
    return spark_lake


@pytest.fixture(scope="session")
def spark(spark_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A session on two cores over ``spark_lake``, with the table formats of all sinks."""
    from penstock.cli.platform.fetch import spark_archive
    from penstock.local.artefacts import class_path
    from penstock.local.java import find_java
    from penstock.pipelines import DeltaSink
    from penstock.spark.session import SessionSettings, open_session
    from penstock.spark.sinks.requirements import requirements

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    archive = spark_archive(find_java(os.environ).home)
    delta = requirements([DeltaSink(location="s3://lk/any")])
    settings = SessionSettings(
        master="local[2]",
        jars=class_path("spark"),
        more_jars=[jar for group in ("iceberg", "iceberg-aws", "delta", "postgresql") for jar in class_path(group)],
        lake=spark_lake,
        log=log,
        archive=archive,
        extra=delta.configuration,
    )
    session = open_session(settings, name="tests", locations=["s3://lk/any", "s3://tables/any"])
    yield session
    session.stop()


@pytest.fixture
def glue_context(spark: "SparkSession") -> "Iterator[GlueContext]":
    """A GlueContext on the session of all tests, without ANSI mode, as ``penstock glue run`` starts Spark."""
    from awsglue.context import GlueContext

    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield GlueContext(spark.sparkContext)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi))
