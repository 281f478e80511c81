"""Scripts name the buckets of a lake by the schemes of other Hadoops, too."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame

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
    assert sorted(value for each in files for value in pq.read_table(each).column("a").to_pylist()) == [1, 1, 2, 2]
