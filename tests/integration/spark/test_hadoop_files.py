"""The files that Spark's session reaches behave as every file system does: those of a folder, and those of a bucket."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.lake.files import FileSystem
from penstock.spark.hadoop import HadoopFiles
from penstock.testing.suites import FileSystemSuite

pytestmark = pytest.mark.spark


@pytest.fixture
def files(spark: SparkSession) -> FileSystem:
    return HadoopFiles(spark)


class TestInAFolder(FileSystemSuite):
    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(tmp_path / "folder")


class TestInABucket(FileSystemSuite):
    @pytest.fixture
    def root(self, spark_lake: Path) -> str:
        shutil.rmtree(spark_lake / "lk" / "files", ignore_errors=True)
        return "s3://lk/files"
