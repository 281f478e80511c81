"""Spark's own catalog over the data catalog: what Spark makes is in Glue's API, and what others made is in Spark."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from penstock.testing.server import RunningServer, running_server


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        (running.lake / "lk").mkdir(parents=True)
        yield running


def _given(glue: Any, lake: Path) -> None:
    """A table that Spark did not make."""
    glue.create_database(DatabaseInput={"Name": "shop", "LocationUri": "s3://lk/shop.db"})
    for part, value in (("x", 1), ("y", 2)):
        folder = lake / "lk" / "given" / f"part={part}"
        folder.mkdir(parents=True)
        pd.DataFrame({"value": [value]}).to_parquet(folder / "rows.parquet")
    storage = {
        "Columns": [{"Name": "value", "Type": "bigint"}],
        "Location": "s3://lk/given/",
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
    }
    glue.create_table(
        DatabaseName="shop",
        TableInput={"Name": "given", "StorageDescriptor": storage, "PartitionKeys": [{"Name": "part", "Type": "string"}]},
    )
    for part in ("x", "y"):
        place = {**storage, "Location": f"s3://lk/given/part={part}/"}
        glue.create_partition(
            DatabaseName="shop", TableName="given", PartitionInput={"Values": [part], "StorageDescriptor": place}
        )


@pytest.mark.spark
def test_tables_by_name_in_spark_sql_are_those_of_the_catalog(server: RunningServer, tmp_path: Path) -> None:
    glue = server.client("glue")
    _given(glue, server.lake)
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.metastore.spark_flow", str(server.lake), str(tmp_path / "spark.log")],
        env={**os.environ, **server.environment(), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen == {
        "orders": [[2, "b", "2024-01-02"]],
        "saved": 10,
        "hive": [2],
        "repaired": [1, 2],
        "iceberg": [["two", "b"]],
        "given": [1],
        "tables": ["given", "hive", "ice", "orders", "saved"],
    }
    orders = glue.get_table(DatabaseName="shop", Name="orders")["Table"]
    assert [(partition_key["Name"], partition_key["Type"]) for partition_key in orders["PartitionKeys"]] == [
        ("day", "string")
    ]
    assert glue.get_table(DatabaseName="shop", Name="ice")["Table"]["Parameters"]["table_type"] == "ICEBERG"
    partition = glue.get_partitions(DatabaseName="shop", TableName="orders")["Partitions"]
    assert sorted(item["Values"] for item in partition) == [["2024-01-01"], ["2024-01-02"]]
