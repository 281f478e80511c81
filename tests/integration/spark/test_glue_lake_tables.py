"""Glue scripts over tables of Iceberg and Delta: from the catalog, by name and by folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.errors import InvalidInput, NotFound
from penstock.glue.datalake import CATALOG
from penstock.glue.once import write_batch_once
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def glue(
    spark: SparkSession, penstock_server: RunningServer, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GlueContext]:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    assert (lake / "lk").is_dir()
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty("aws.accessKeyId", penstock_server.access_key_id)
    system.setProperty("aws.secretAccessKey", penstock_server.secret_access_key)
    yield GlueContext(spark.sparkContext)
    for name in ("aws.accessKeyId", "aws.secretAccessKey"):
        system.clearProperty(name)
    for name in [key for key in spark.conf.getAll if key.startswith(f"spark.sql.catalog.{CATALOG}")]:
        spark.conf.unset(name)


def values(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_iceberg_and_delta_tables_are_read_and_written(glue: GlueContext, penstock_server: RunningServer) -> None:
    catalog = penstock_server.client("glue")
    catalog.create_database(DatabaseInput={"Name": "ice", "LocationUri": "s3://lk/ice"})
    rows = glue.createDataFrame([(1, "mon"), (2, "tue")], "id BIGINT, day STRING")
    with pytest.raises(NotFound, match="flights"):
        glue.create_data_frame.from_options("iceberg", {"path": f"{CATALOG}.ice.flights"})
    rows.writeTo(f"{CATALOG}.ice.flights").using("iceberg").partitionedBy("day").create()
    more = glue.createDataFrame([(3, "tue")], "id BIGINT, day STRING")
    glue.write_data_frame.from_catalog(frame=more, database="ice", table_name="flights")
    glue.write_dynamic_frame.from_options(
        DynamicFrame.fromDF(more, glue, "f"), "iceberg", {"path": f"{CATALOG}.ice.flights"}
    )
    whole = [(1, "mon"), (2, "tue"), (3, "tue"), (3, "tue")]
    result = glue.create_data_frame.from_catalog(database="ice", table_name="flights")
    assert values(result) == whole
    snapshots = glue.spark_session.table(f"{CATALOG}.ice.flights.snapshots").orderBy("committed_at")
    first, moment = snapshots.selectExpr("snapshot_id", "unix_millis(committed_at)").first()  # type: ignore[misc]
    old = glue.create_dynamic_frame.from_catalog("ice", "flights", additional_options={"snapshot-id": str(first)})
    assert values(old.toDF()) == whole[:2]
    then = glue.create_data_frame.from_catalog("ice", "flights", additional_options={"as-of-timestamp": moment})
    assert values(then) == whole[:2]
    tuesday = glue.create_dynamic_frame.from_catalog("ice", "flights", push_down_predicate="day = 'mon'")
    assert values(tuesday.toDF()) == whole[:1]

    folder = "s3://lk/delta/flights"
    glue.write_data_frame.from_options(rows, "delta", {"path": folder, "partitionKeys": ["day"]})
    about = {"classification": "delta", "spark.sql.sources.provider": "delta", "table_type": "delta"}
    storage = {"Location": folder, "Columns": []}
    catalog.create_table(
        DatabaseName="ice", TableInput={"Name": "deltas", "Parameters": about, "StorageDescriptor": storage}
    )
    glue.write_dynamic_frame.from_catalog(DynamicFrame.fromDF(more, glue, "f"), database="ice", table_name="deltas")
    assert values(glue.create_data_frame.from_catalog(database="ice", table_name="deltas")) == whole[:3]
    once = {"path": "s3://lk/delta/once", "checkpoint": "s3://lk/c", "format": "delta"}
    assert [write_batch_once(more, number, **once) for number in (0, 0, 1)] == [True, False, True]
    assert glue.spark_session.read.format("delta").load(once["path"]).count() == 2
    # Delta's own Python library, as AWS's image has it.
    changes = glue.createDataFrame([(2, "wed"), (4, "thu")], "id BIGINT, day STRING")
    merge = DeltaTable.forPath(glue.spark_session, folder).alias("t").merge(changes.alias("c"), "t.id = c.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    merged = glue.create_data_frame.from_catalog(database="ice", table_name="deltas")
    assert values(merged) == [(1, "mon"), (2, "wed"), (3, "tue"), (4, "thu")]
    before = glue.create_data_frame.from_options("delta", {"path": folder, "versionAsOf": "0"})
    assert values(before) == whole[:2]
    with pytest.raises(NotFound, match="nothing cannot be read"):
        glue.create_data_frame.from_options("delta", {"path": "s3://lk/nothing"})
    with pytest.raises(InvalidInput, match="mode is 'ignore'"):
        glue.write_data_frame.from_options(rows, "delta", {"path": folder, "mode": "ignore"})
    with pytest.raises(InvalidInput, match="needs path"):
        glue.create_data_frame.from_options("iceberg", {"path": "s3://lk/ice/flights"})
