"""Scripts name the buckets of a lake by the schemes of other Hadoops, too."""

import shutil
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
import pytest

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.glue.patches.own_readers import read_text_with_checksums
from penstock.glue.schemas.json_records import json_frame
from penstock.spark.session import mount_bucket

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("scheme", ["s3a", "s3n"])
def test_a_bucket_is_the_same_folder_by_each_scheme(glue_context: GlueContext, spark_lake: Path, scheme: str) -> None:
    folder = f"{scheme}://lk/by-{scheme}/"
    glue_context.createDataFrame([(1,), (2,)], "a INT").write.mode("overwrite").parquet(folder)
    frame = glue_context.create_dynamic_frame.from_options("s3", {"paths": [folder]}, format="parquet")
    assert isinstance(frame, DynamicFrame)
    glue_context.write_dynamic_frame.from_options(frame, "s3", {"path": folder}, format="parquet")
    files = list((spark_lake / "lk" / f"by-{scheme}").glob("*.parquet"))
    assert sorted(value for file in files for value in pq.read_table(file).column("a").to_pylist()) == [1, 1, 2, 2]


@pytest.mark.parametrize("root", ["s3://roots/", "s3://roots"])
def test_a_whole_bucket_is_read_and_written(glue_context: GlueContext, spark_lake: Path, root: str) -> None:
    bucket = spark_lake / "roots"
    shutil.rmtree(bucket, ignore_errors=True)
    (bucket / "text").mkdir(parents=True)
    spark = glue_context.spark_session
    mount_bucket(spark, root)
    rows = glue_context.createDataFrame([(1, "x"), (2, "y")], "a INT, b STRING")
    frame = DynamicFrame.fromDF(rows, glue_context, "rows")
    glue_context.write_dynamic_frame.from_options(frame, "s3", {"path": root}, format="parquet")
    rows.write.mode("append").parquet(root)
    assert spark.read.parquet(root).count() == 4
    assert spark.read.option("recursiveFileLookup", "true").schema("a INT").parquet(root).count() == 4
    by_glue = glue_context.create_dynamic_frame.from_options("s3", {"paths": [root]}, format="parquet")
    assert by_glue.count() == 4
    stream = spark.readStream.schema("a INT").parquet(root).writeStream.format("memory").queryName("of_root")
    stream.option("checkpointLocation", f"s3://lk/{uuid4()}").trigger(availableNow=True).start().awaitTermination()
    assert spark.table("of_root").count() == 4
    rows.write.format("delta").save(f"{root.rstrip('/')}/delta")
    glue_context.purge_s3_path(root, {"retentionPeriod": 0})
    assert not list(bucket.rglob("*.parquet"))
    (bucket / "a.json").write_text('{"a": 1}\n')
    records = glue_context.create_dynamic_frame.from_options("s3", {"paths": [root]}, format="json")
    assert [row.a for row in records.toDF().collect()] == [1]
    read_text_with_checksums()
    assert spark.sparkContext.textFile(root).collect() == ['{"a": 1}']
    assert spark.sparkContext.textFile("s3://roots/*.json,s3://roots/a.json").count() == 2
    assert spark.sparkContext.wholeTextFiles(f"{root.rstrip('/')}/*.json").values().collect() == ['{"a": 1}\n']
    spark.sparkContext.parallelize(["x"], 1).saveAsTextFile(f"{root.rstrip('/')}/text/1")
    assert sorted(path.name for path in (bucket / "text/1").iterdir()) == ["part-00000"]


def test_inferred_columns_of_a_stream_are_in_the_order_of_their_names(glue_context: GlueContext) -> None:
    texts = ['{"b": {"y": 1, "x": [{"q": 1, "p": 2}]}, "a": 1}', '{"c": 1, "B2": 2}']
    frame = glue_context.createDataFrame([(text,) for text in texts], "text STRING")
    data_frame = json_frame(frame, "text", wide=True).frame
    assert data_frame.schema.simpleString() == (
        "struct<B2:bigint,a:bigint,b:struct<x:array<struct<p:bigint,q:bigint>>,y:bigint>,c:bigint>"
    )
    by_spark = glue_context.spark_session.read.json(frame.rdd.map(lambda row: row[0]))
    assert by_spark.schema.simpleString() == data_frame.schema.simpleString()
