"""One Spark session for the tests that do not kill it, configured as the runner configures its own."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.platform.fetch import spark_archive
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.pipelines import DeltaSink
from penstock.spark.session import SessionSettings, open_session
from penstock.spark.sinks.requirements import requirements


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
def spark(spark_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores over ``spark_lake``, with the table formats of all sinks."""
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    archive = spark_archive(find_java(os.environ).home)
    delta = requirements([DeltaSink(location="s3://lk/any")])
    settings = SessionSettings(
        master="local[2]",
        jars=class_path("spark"),
        more_jars=[jar for group in ("iceberg", "iceberg-aws", "delta") for jar in class_path(group)],
        lake=spark_lake,
        log=log,
        archive=archive,
        extra=delta.configuration,
    )
    session = open_session(settings, name="tests", locations=["s3://lk/any", "s3://tables/any"])
    yield session
    session.stop()
