"""The example pipelines to tables of Iceberg and Delta, run as they are, with a catalog of our own."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cli.streams.compact_formats import format_sinks, maintain, report_line
from penstock.local.broker import Broker
from penstock.spark.maintenance.settings import CompactionSettings
from penstock.testing.server import RunningServer
from tests.integration.spark import stream
from tests.integration.spark.sinks.test_examples import EXAMPLES, NOTED, ORDER, Orders
from tests.integration.spark.stream import Registry, Topic

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_FIELDS: Any = NOTED["fields"]
RENAMED = {
    **NOTED,
    "fields": [
        *(field for field in _FIELDS if field["name"] != "tags"),
        {"name": "labels", "type": {"type": "array", "items": "string"}, "aliases": ["tags"]},
    ],
}


@pytest.fixture
def shop(
    spark_utc: SparkSession,
    spark_lake: Path,
    broker: Broker,
    penstock_server: RunningServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Orders]:
    """The examples' topic; catalog and keys are those of the server, for this process and for Spark's JVM."""
    for entry in (spark_lake / "lk").iterdir():
        shutil.rmtree(entry)
    monkeypatch.setattr(stream, "DEFINITIONS", (ORDER, NOTED, RENAMED))
    system: Any = spark_utc._jvm.java.lang.System  # type: ignore[union-attr]
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    system.setProperty("aws.accessKeyId", penstock_server.access_key_id)
    system.setProperty("aws.secretAccessKey", penstock_server.secret_access_key)
    orders = Orders(spark_utc, Topic(broker))
    orders.registry = Registry(numbers=[1])
    yield orders
    system.clearProperty("aws.accessKeyId")
    system.clearProperty("aws.secretAccessKey")
    penstock_server.client("glue").delete_database(Name="shop")  # other tests of the session make shop.orders, too


def _maintain(spark: SparkSession, example: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What 'penstock compact' says of the example's table."""
    for name in ("PENSTOCK_BROKERS", "PENSTOCK_SECRET_ID"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("PENSTOCK_BUCKET", "lk")
    (pipeline,), (sink,) = format_sinks(EXAMPLES / example)
    assert pipeline.sinks == (sink,)
    return [
        report_line(procedure_report) for procedure_report in maintain(spark, sink, CompactionSettings(min_files=2), None)
    ]


def _steps(shop: Orders, example: str) -> None:
    """Three runs: orders, one of them again with a new column, and one with a column under its new name."""
    shop.send(1, 1, 2)
    assert shop.run(example, {}).rows == 2
    shop.registry.numbers = [1, 2]
    shop.send(2, 2, 3, amount=75.0, note="again")
    assert shop.run(example, {}).rows == 2
    shop.registry.numbers = [1, 2, 3]
    shop.send(3, 4, labels=["c"], note=None)
    assert shop.run(example, {}).rows == 1
    assert shop.run(example, {}).batches == 0


def test_iceberg(
    shop: Orders, spark_utc: SparkSession, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _steps(shop, "orders-to-iceberg.yaml")
    glue = penstock_server.client("glue")
    table = glue.get_table(DatabaseName="shop", Name="orders")["Table"]
    assert table["Parameters"]["table_type"] == "ICEBERG"
    said = _maintain(spark_utc, "orders-to-iceberg.yaml", monkeypatch)
    assert said[0].startswith("shop.orders rewrite_data_files: ")
    rows = _iceberg(spark_utc)
    assert [(row.id, row.amount, row.note, row.labels) for row in rows] == [
        (1, 50.0, None, ["a", "b"]),
        (2, 75.0, "again", ["a", "b"]),
        (3, 75.0, "again", ["a", "b"]),
        (4, 50.0, None, ["c"]),
    ]


def _iceberg(spark: SparkSession) -> Any:
    name = next(
        key.split(".")[3]
        for key, value in spark.conf.getAll.items()
        if key.startswith("spark.sql.catalog.penstock_") and value == "s3://lk/iceberg"
    )
    return spark.table(f"{name}.shop.orders").orderBy("id").collect()


def test_delta(
    shop: Orders, spark_utc: SparkSession, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _steps(shop, "orders-to-delta.yaml")
    assert _maintain(spark_utc, "orders-to-delta.yaml", monkeypatch)[0] == (
        "s3://lk/delta/orders OPTIMIZE: numFilesRemoved 3, numFilesAdded 1"
    )
    rows = spark_utc.read.format("delta").load("s3://lk/delta/orders").orderBy("id", "amount").collect()
    assert [(row.id, row.amount, row.note, row.labels) for row in rows] == [
        (1, 50.0, None, ["a", "b"]),
        (2, 50.0, None, ["a", "b"]),
        (2, 75.0, "again", ["a", "b"]),
        (3, 75.0, "again", ["a", "b"]),
        (4, 50.0, None, ["c"]),
    ]
    table = penstock_server.client("glue").get_table(DatabaseName="shop", Name="orders_delta")["Table"]
    assert table["Parameters"]["table_type"] == "DELTA"
    assert {"id", "note", "labels"} <= {column["Name"] for column in table["StorageDescriptor"]["Columns"]}
