"""A job that dies before its commit reads the same again, and one that committed never does."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from awsglue.context import GlueContext
from awsglue.job import Job
from penstock.glue.jobs.bookmark_store import FOLDER

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KILLED = """
import os, signal, sys
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import getResolvedOptions
args = getResolvedOptions(sys.argv, ["JOB_NAME", "path", "TempDir"])
glue = GlueContext()
job = Job(glue)
job.init(args["JOB_NAME"], args)
rows = glue.create_dynamic_frame.from_options("s3", {"paths": [args["path"]]}, format="json", transformation_ctx="source")
print(args["TempDir"], rows.count(), flush=True)
glue.stop()
os.kill(os.getpid(), signal.SIGKILL)
job.commit()
"""


def test_what_a_committed_run_has_read_is_not_read_again(
    spark: SparkSession, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake / "lk" / "in"
    folder.mkdir()

    def run(commit: bool = True, **arguments: Any) -> list[int]:
        glue = GlueContext(spark.sparkContext)
        job = Job(glue)
        job.init("flights", {"job_bookmark_option": "job-bookmark-enable", **arguments})
        options = {"paths": ["s3://lk/in/"], "boundedFiles": "2"}
        rows = glue.create_dynamic_frame.from_options("s3", options, format="json", transformation_ctx="source").toDF()
        results = sorted(row["n"] for row in rows.collect()) if rows.columns else []
        if commit:
            job.commit()
        return results

    def put(number: int, at: int) -> None:
        file = folder / f"{number}.json"
        file.write_text(f'{{"n": {number}}}\n')
        os.utime(file, (at, at))

    put(1, 1_000)
    put(2, 2_000)
    home, script = tmp_path / "home", tmp_path / "job.py"
    script.write_text(KILLED)
    killed = subprocess.run(
        [
            *(sys.executable, "-m", "penstock", "glue", "run", "--home", str(home), "--lake", str(lake)),
            *("--master", "local[1]", str(script), "--JOB_NAME", "flights", "--path", "s3://lk/in/"),
            *("--job-bookmark-option", "job-bookmark-enable"),
        ],
        env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    # Other tests of the session may have made buckets, too.
    first = min(bucket.name for bucket in lake.iterdir() if not bucket.name.startswith("."))
    assert killed.stdout == f"s3://{first}/glue/temporary/ 2\n"
    monkeypatch.setenv(FOLDER, str(home / "glue" / "bookmarks"))
    assert run(commit=False) == [1, 2]
    assert run(JOB_RUN_ID="jr_1") == [1, 2]
    for number, at in ((3, 3_000), (4, 3_000), (5, 3_000), (2, 3_100)):
        put(number, at)
    # Two at a time, the oldest first; 2 was written again.
    assert [run(JOB_RUN_ID=f"jr_{number}") for number in (2, 3, 4)] == [[3, 4], [2, 5], []]
    paused: dict[str, Any] = {"job_bookmark_option": "job-bookmark-pause"}
    assert run(**paused) == []
    assert run(**paused, job_bookmark_from="jr_1", job_bookmark_to="jr_2") == [3, 4]
    assert run(job_bookmark_option="job-bookmark-disable") == [1, 3]
