"""The prompt of ``penstock glue shell``, and the fixture for tests of scripts, each as its users start it."""

import os
import subprocess
import sys
from pathlib import Path

from penstock.interpreter import python_module

SCRIPT = """
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import getResolvedOptions
from pyspark.context import SparkContext
import sys


def totals(glue_context):
    frame = glue_context.create_dynamic_frame.from_options(
        "s3", {"paths": ["s3://lake/sales/"]}, format="csv", format_options={"withHeader": True}
    )
    return frame.toDF().groupBy("shop").count()


if __name__ == "__main__":
    args = getResolvedOptions(sys.argv, ["JOB_NAME"])
    context = GlueContext(SparkContext())
    job = Job(context)
    job.init(args["JOB_NAME"], args)
    totals(context).write.parquet("s3://lake/totals/")
    job.commit()
"""

TEST = """
import sys
import pytest
from awsglue.utils import getResolvedOptions
from penstock.testing.glue import glue_context, glue_lake
from sales import totals


def test_totals(glue_context, glue_lake):
    (glue_lake / "lake/sales").mkdir()
    (glue_lake / "lake/sales/a.csv").write_text("shop,price\\nA,1\\nA,2\\nB,3\\n")
    assert sorted(map(tuple, totals(glue_context).collect())) == [("A", 2), ("B", 1)]
    assert getResolvedOptions(sys.argv, ["JOB_NAME"])["JOB_NAME"] == "test"
"""


def test_a_script_is_tested_with_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "sales.py").write_text(SCRIPT)
    (tmp_path / "test_sales.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_shell_has_a_context_at_hand(tmp_path: Path) -> None:
    (tmp_path / "lake/lake").mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_HOME"))}
    arguments = ["--home", str(tmp_path / "home"), "--lake", str(tmp_path / "lake"), "--master", "local[2]"]
    done = subprocess.run(
        [*python_module("penstock", "glue", "shell"), *arguments, "--conf", "spark.sql.catalogImplementation=in-memory"],
        input="spark.range(4).count()\nglueContext.spark_session is spark\nmissing\n",
        env=environment | {"AWS_REGION": "us-east-1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.replace(">>> ", "").split()) == (0, ["4", "True"]), done.stdout + done.stderr
    assert "NameError: name 'missing' is not defined" in done.stderr
