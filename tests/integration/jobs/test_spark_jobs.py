"""Jobs and sessions on Spark: a job's whole way, and the statements of a session as dbt-glue and notebooks send them."""

import sys
from typing import Any

import pytest

from penstock.retries import wait_until
from tests.integration.jobs.conftest import Jobs

JOB = """
import sys
from pathlib import Path
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import getResolvedOptions
from pyspark.context import SparkContext
import helper
args = getResolvedOptions(sys.argv, ["JOB_NAME", "day", "TempDir"])
context = GlueContext(SparkContext())
job = Job(context)
job.init(args["JOB_NAME"], args)
spark = context.spark_session
spark.range(helper.ROWS).write.mode("overwrite").parquet("s3://lake/jobs-out/")
print(args["JOB_NAME"], args["day"], args["TempDir"], spark.conf.get("spark.sql.shuffle.partitions"))
print(spark.read.parquet("s3://lake/jobs-out/").count())
lines = []
for each in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(each.read_bytes())
    except OSError:
        continue
print([any(text in each for each in lines) for text in (b"SparkSubmit", b"hush-8c1e")], spark.conf.get("spark.own.key"))
job.commit()
"""


def test_a_glueetl_job_runs_on_spark(jobs: Jobs) -> None:
    helper = jobs.script("helper", "ROWS = 5\n")
    arguments = {
        "--day": "1",
        "--extra-py-files": helper,
        "--conf": "spark.sql.shuffle.partitions=3 --conf spark.driver.memory=1g --conf spark.own.key=hush-8c1e",
        "--password": "hush-8c1e",
        "--enable-metrics": "",
        "--job-bookmark-option": "job-bookmark-disable",
    }
    jobs.create("etl", JOB, "glueetl", DefaultArguments=arguments, GlueVersion="5.0", WorkerType="G.1X", NumberOfWorkers=2)
    run = jobs.wait("etl", jobs.start("etl", Arguments={"--day": "2"}))
    assert run["JobRunState"] == "SUCCEEDED", run
    assert jobs.output(run["Id"]) == ["etl 2 s3://lake/glue-temporary/etl/ 3", "5", "[True, False] hush-8c1e"]
    assert (run["WorkerType"], run["NumberOfWorkers"]) == ("G.1X", 2)
    assert run["ExecutionTime"] > 0


def statement(jobs: Jobs, code: str) -> Any:
    number = jobs.glue.run_statement(SessionId="dev", Code=code)["Id"]

    def found() -> Any:
        return jobs.glue.get_statement(SessionId="dev", Id=number)["Statement"]

    assert wait_until(lambda: found()["State"] in {"AVAILABLE", "ERROR", "CANCELLED"}, seconds=240), found()
    return found()


# A job of the cancelled statement may start, and be cancelled, after it; and Spark's listeners hear of its end later.
IDLE = """
import sys
import time
until = time.monotonic() + 200
while sc.statusTracker().getActiveJobsIds() and time.monotonic() < until:
    time.sleep(0.1)
list(sc.statusTracker().getActiveJobsIds())
"""


def test_a_session_runs_statements(jobs: Jobs) -> None:
    glue = jobs.glue
    memory = {"--conf": "spark.driver.memory=1g"}
    role = f"arn:aws:iam::{jobs.server.account}:role/etl"
    made = glue.create_session(Id="dev", Role=role, Command={"Name": "glueetl"}, DefaultArguments=memory)["Session"]
    assert made["Status"] == "PROVISIONING"
    with pytest.raises(glue.exceptions.IllegalSessionStateException):
        glue.run_statement(SessionId="dev", Code="1")
    assert wait_until(lambda: glue.get_session(Id="dev")["Session"]["Status"] == "READY", seconds=240)
    first = statement(jobs, "rows = spark.range(3)\nprint('counted')\nrows.count()")
    assert (first["Output"]["Data"]["TextPlain"], first["Output"]["ExecutionCount"]) == ("counted\n3\n", 1)
    assert first["Output"]["Status"] == "ok"
    wrong = statement(jobs, "rows.nothing()")
    assert (wrong["State"], wrong["Output"]["Status"]) == ("AVAILABLE", "error")
    assert wrong["Output"]["ErrorName"] == "PySparkAttributeError"
    assert "nothing" in wrong["Output"]["ErrorValue"]
    assert wrong["Output"]["Traceback"][0] == "Traceback (most recent call last):\n"
    assert statement(jobs, "glueContext.spark_session is spark")["Output"]["Data"]["TextPlain"] == "True\n"
    reached = statement(jobs, f"open({str(jobs.server.home / 'master.key')!r})")["Output"]
    assert sys.platform != "linux" or reached["ErrorName"] == "PermissionError"
    long = "print('begun')\nspark.range(10**14).selectExpr('sum(id % 7)').collect()"
    number = glue.run_statement(SessionId="dev", Code=long)["Id"]
    waits = glue.run_statement(SessionId="dev", Code="1")["Id"]
    assert wait_until(lambda: glue.get_statement(SessionId="dev", Id=number)["Statement"]["State"] == "RUNNING", seconds=240)
    glue.cancel_statement(SessionId="dev", Id=number)
    assert wait_until(
        lambda: glue.get_statement(SessionId="dev", Id=number)["Statement"]["State"] == "CANCELLED", seconds=240
    )
    assert glue.get_statement(SessionId="dev", Id=number)["Statement"]["Output"]["Data"]["TextPlain"] == "begun\n"
    assert statement(jobs, IDLE)["Output"]["Data"]["TextPlain"] == "[]\n"
    assert glue.get_statement(SessionId="dev", Id=waits)["Statement"]["Output"]["Status"] == "ok"
    assert statement(jobs, "rows.count()")["Output"]["Data"]["TextPlain"] == "3\n"
    assert [item["Id"] for item in glue.list_statements(SessionId="dev")["Statements"]] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert glue.list_sessions()["Ids"] == ["dev"]
    glue.stop_session(Id="dev")
    assert wait_until(lambda: glue.get_session(Id="dev")["Session"]["Status"] == "STOPPED", seconds=240)
    glue.delete_session(Id="dev")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_session(Id="dev")
