"""Iceberg's locks in DynamoDB, which scripts for older versions of Glue configure: they are left out."""

from collections.abc import Iterator

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from penstock.glue.patches.table import leave_out_locks

OLD, NEW = "org.apache.iceberg.aws.glue.DynamoLockManager", "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager"
KEY = "spark.sql.catalog.glue_catalog.lock-impl"


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(SparkConf, "set", SparkConf.set)
    monkeypatch.setattr(RuntimeConfig, "set", RuntimeConfig.set)
    monkeypatch.setattr(SparkSession.Builder, "config", SparkSession.Builder.config)
    monkeypatch.delattr(SparkConf, "_penstock_locks", raising=False)
    leave_out_locks()
    yield
    delattr(SparkConf, "_penstock_locks")


def test_a_lock_is_left_out_of_each_way_to_configure(caplog: pytest.LogCaptureFixture) -> None:
    table = (KEY.replace("impl", "table"), "locks")
    configuration = SparkConf(loadDefaults=False).setAll([(KEY, OLD), table]).set(KEY, NEW).set("spark.x", "1")
    assert sorted(configuration.getAll()) == sorted([table, ("spark.x", "1")])
    builder = SparkSession.Builder()
    builder._options = {}
    builder.config(KEY, OLD).config(key=KEY, value=NEW).config(map={KEY: OLD, "spark.y": "2"}).config(conf=configuration)
    assert builder._options == {**dict([table]), "spark.x": "1", "spark.y": "2"}
    assert f"{KEY} has no effect: commits to Glue's catalog are checked by their versions." in caplog.messages


def test_other_locks_stay() -> None:
    mine = (KEY, "org.example.MyLock")
    kept = SparkConf(loadDefaults=False).set(*mine).set("spark.other.lock-impl", OLD).getAll()
    assert sorted(kept) == [("spark.other.lock-impl", OLD), mine]
