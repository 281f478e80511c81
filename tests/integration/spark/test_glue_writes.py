"""What Glue scripts write to files, and what the catalog knows of them afterwards."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.errors import DataProblem, InvalidInput, NotFound
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def glue(spark: SparkSession, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> GlueContext:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    catalog = penstock_server.client("glue")
    if not any(database["Name"] == "out" for database in catalog.get_databases()["DatabaseList"]):
        catalog.create_database(DatabaseInput={"Name": "out"})
    return GlueContext(spark.sparkContext)


def frame(glue: GlueContext, rows: list[Any], schema: str) -> DynamicFrame:
    return DynamicFrame.fromDF(glue.createDataFrame(rows, schema), glue, "rows")


def names(folder: Path) -> list[str]:
    return sorted({file.suffix for file in folder.rglob("*") if file.is_file()})


def sink_to(glue: GlueContext, path: str, form: str, table: str, **options: Any) -> Any:
    sink = glue.getSink("s3", path=path, enableUpdateCatalog=True, **options)
    sink.setFormat(form)
    sink.setCatalogInfo(catalogDatabase="out", catalogTableName=table)
    return sink


def test_a_sink_makes_the_table_its_columns_and_partitions(
    glue: GlueContext, penstock_server: RunningServer, lake: Path
) -> None:
    catalog = penstock_server.client("glue")
    first = frame(glue, [(1, "x", "DE")], "id INT, Name STRING, Land STRING")
    path = "s3://lk/glue/sales/"
    sink_to(glue, path, "glueparquet", "Sales", partitionKeys=["Land"], updateBehavior="UPDATE_IN_DATABASE").writeFrame(
        first
    )
    more = frame(glue, [(2, "y", 2.5, "FR")], "id BIGINT, Name STRING, price DOUBLE, Land STRING")
    sink_to(glue, path, "glueparquet", "sales", partitionKeys=["Land"], compression="gzip").writeFrame(more)
    table = catalog.get_table(DatabaseName="out", Name="sales")["Table"]
    described = {column["Name"]: column["Type"] for column in table["StorageDescriptor"]["Columns"]}
    assert described == {"id": "bigint", "name": "string", "price": "double"}
    assert [key["Name"] for key in table["PartitionKeys"]] == ["land"]
    partitions = catalog.get_partitions(DatabaseName="out", TableName="sales")["Partitions"]
    assert sorted(partition["Values"][0] for partition in partitions) == ["DE", "FR"]
    result = glue.create_dynamic_frame.from_catalog("out", "sales", additional_options={"useCatalogSchema": True}).toDF()
    assert sorted(tuple(row) for row in result.collect()) == [(1, "x", None, "DE"), (2, "y", 2.5, "FR")]

    # With LOG, columns that the table lacks are not added, nor are their partitions.
    wider = frame(glue, [(3, 1, "IT")], "id BIGINT, other INT, Land STRING")
    sink_to(glue, path, "glueparquet", "sales", partitionKeys=["land"], updateBehavior="LOG").writeFrame(wider)
    assert len(catalog.get_partitions(DatabaseName="out", TableName="sales")["Partitions"]) == 2
    with pytest.raises(DataProblem, match="is partitioned by"):
        sink_to(glue, path, "glueparquet", "sales", partitionKeys=["id"]).writeFrame(first)
    with pytest.raises(NotFound, match=r"out\.nothing"):
        sink_to(glue, path, "json", "nothing", updateBehavior="LOG").writeFrame(first)
    with pytest.raises(InvalidInput, match="is not for files of orc"):
        sink_to(glue, path, "orc", "sales").writeFrame(first)

    glue.write_dynamic_frame.from_catalog(frame=first, database="out", table_name="sales")
    assert glue.create_dynamic_frame.from_catalog("out", "sales").count() == 3
    sink_to(glue, "s3://lk/glue/plain/", "csv", "plain").writeFrame(first)
    again = glue.create_dynamic_frame.from_catalog("out", "plain").toDF().collect()
    assert [row.asDict() for row in again] == [{"id": 1, "name": "x", "land": "DE"}]


def test_formats_are_written_by_glues_options(glue: GlueContext, lake: Path) -> None:
    rows = frame(glue, [(1, 'a "b", c', None), (2, "", "z")], "id INT, text STRING, other STRING")
    folder = lake / "lk" / "w"

    def write(form: str, given: Any = None, **options: Any) -> str:
        path = f"s3://lk/w/{len(list(folder.glob('*'))) if folder.exists() else 0}"
        glue.write_dynamic_frame.from_options(
            rows.coalesce(1), "s3", {"path": path, **options}, format=form, format_options=given or {}
        )
        return path.removeprefix("s3://lk/w/")

    def text(name: str) -> str:
        (file,) = (folder / name).iterdir()
        return file.read_text()

    assert text(write("csv")) == 'id,text,other\n1,"a ""b"", c",\n2,"",z\n'
    assert text(write("csv", {"separator": "|", "quoteChar": -1, "writeHeader": False})) == '1|a "b", c|\n2||z\n'
    assert [json.loads(line) for line in text(write("json")).splitlines()][1] == {"id": 2, "text": "", "other": "z"}
    assert names(folder / write("json", compression="gzip")) == [".gz"]
    snappy = write("json", compression="snappy")  # as the scripts of Glue Studio have it
    read = glue.create_dynamic_frame.from_options("s3", {"paths": [f"s3://lk/w/{snappy}"]}, format="json")
    assert (names(folder / snappy), read.count()) == ([".snappy"], 2)
    assert names(folder / write("parquet", {"blockSize": "1MB"}, useGlueParquetWriter=True, compressionType="gzip")) == [
        ".parquet"
    ]
    path = write("avro", partitionKeys=["id"])
    assert sorted(item.name for item in (folder / path).iterdir()) == ["id=1", "id=2"]
    # What fails leaves no file.
    before = sorted(folder.rglob("*"))
    with pytest.raises(Exception, match="quoteChar -1 writes no quotes"):
        write("csv", {"separator": ",", "quoteChar": -1})
    failing = DynamicFrame.fromDF(rows.toDF().withColumn("x", F.raise_error(F.lit("no"))), glue, "x")
    with pytest.raises(Exception, match="no"):
        glue.write_dynamic_frame.from_options(failing, "s3", {"path": "s3://lk/w/0"}, format="json")
    assert sorted(item for item in folder.rglob("*") if item.is_file()) == [item for item in before if item.is_file()]
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("xml", {}, "Format 'xml' is not supported for writing"),
        ("json", {"enableUpdateCatalog": True}, "setCatalogInfo"),
        ("json", {"partitionKeys": ["nope"]}, "no column nope"),
    ]
    for form, options, why in wrong:
        with pytest.raises((InvalidInput, NotFound)) as caught:
            write(form, None, **options)
        assert why in str(caught.value)
    with pytest.raises(NotFound, match="Bucket nowhere"):
        glue.write_dynamic_frame.from_options(rows, "s3", {"path": "s3://nowhere/x"}, format="json")


def test_old_files_are_purged(glue: GlueContext, penstock_server: RunningServer, lake: Path) -> None:
    rows = frame(glue, [(1, "a"), (2, "b")], "id INT, part STRING")
    sink_to(glue, "s3://lk/old/", "json", "old", partitionKeys=["part"]).writeFrame(rows)
    files = sorted((lake / "lk" / "old").rglob("*.json"))
    then = time.time() - 5 * 3600
    os.utime(files[0], (then, then))
    glue.purge_table("out", "old", {"retentionPeriod": 24})
    assert all(file.exists() for file in files)
    glue.purge_table("out", "old", {"retentionPeriod": 2, "manifestFilePath": "s3://lk/manifest/"}, "ctx")
    assert [file.exists() for file in files] == [False, True]
    partitions = penstock_server.client("glue").get_partitions(DatabaseName="out", TableName="old")["Partitions"]
    assert [partition["Values"] for partition in partitions] == [["b"]]
    (manifest,) = (lake / "lk" / "manifest").rglob("Success.csv")
    assert files[0].name in manifest.read_text()
    glue.purge_table("out", "old", {"retentionPeriod": 0, "partitionPredicate": "part = 'none'"})
    glue.purge_s3_path("s3://lk/old/", {"retentionPeriod": 0, "excludeStorageClasses": ["STANDARD"]})
    assert files[1].exists()
    glue.purge_s3_path("s3://lk/old/", {"retentionPeriod": 0})
    assert not files[1].exists()
