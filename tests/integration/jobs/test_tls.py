"""Runs of a server and an S3 endpoint with TLS, whose certificates are of an authority that nobody else knows."""

from pathlib import Path

import pytest

from penstock.local.tls.listeners import PlatformTls
from penstock.settings.home import Home, PlatformConfig
from tests.integration.jobs.conftest import jobs_beside_s3

pytestmark = pytest.mark.spark

JOB = """
import boto3
from awsglue.context import GlueContext
from pyspark.context import SparkContext
print(boto3.client("sts").get_caller_identity()["Arn"].split("/")[1])
context = GlueContext(SparkContext())
frame = context.create_dynamic_frame.from_options("s3", {"paths": ["s3://lake/sales/"]}, "csv", {"withHeader": True})
context.write_dynamic_frame.from_options(frame, "s3", {"path": "s3://lake/out/"}, "json")
print(frame.count())
"""


def test_a_run_trusts_the_authority_of_its_server(tmp_path: Path) -> None:
    config = PlatformConfig(access_key_id="A", secret_access_key="s", kafka_password="p", tls=True)
    tls = PlatformTls.of(Home(tmp_path / "tls"), config)
    assert tls is not None
    tls.refresh()
    with jobs_beside_s3(tmp_path, {"Effect": "Allow", "Action": ["s3:*", "glue:*"], "Resource": "*"}, tls=tls) as jobs:
        assert jobs.server.endpoint_url.startswith("https://")
        data = jobs.server.lake / "lake/sales/a.csv"
        data.parent.mkdir(parents=True)
        data.write_text("id\n1\n2\n")
        arguments = {"--conf": "spark.driver.memory=1g"}
        jobs.create("safe", JOB, "glueetl", DefaultArguments=arguments, WorkerType="G.1X", NumberOfWorkers=2)
        run = jobs.wait("safe", jobs.start("safe"), seconds=180)
        assert (run["JobRunState"], jobs.output(run["Id"])) == ("SUCCEEDED", ["etl", "2"]), jobs.output(run["Id"], "error")
        assert "Warning" not in "".join(jobs.output(run["Id"], "error"))
        out = jobs.server.lake / "lake/out"
        written = "".join(path.read_text() for path in out.iterdir() if not path.name.startswith((".", "_")))
        assert sorted(written.split()) == ['{"id":"1"}', '{"id":"2"}']
