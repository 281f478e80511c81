"""A job on a standalone cluster, whose executors have a Python without Penstock: ``penstock serve --jobs-master spark://``."""

from pathlib import Path

import psutil
import pytest

from penstock.retries import wait_until
from penstock.testing.server import running_server
from tests.integration.jobs.conftest import QUICK, Jobs, make_role
from tests.integration.spark.cluster import python_of_executors, standalone_cluster

pytestmark = pytest.mark.spark

HELPER = "def twice(number):\n    return 2 * number\n"
JOB = """
import time
from awsglue.context import GlueContext
from awsglue.transforms import Filter, Map
from pyspark.context import SparkContext
import helper
sc = SparkContext()
context = GlueContext(sc)
frame = context.create_dynamic_frame.from_options("s3", {"paths": ["s3://lake/sales/"]}, "csv", {"withHeader": True})
kept = Filter.apply(frame=frame, f=lambda row: int(row["id"]) > 1)
changed = Map.apply(frame=kept, f=lambda row: {**row, "twice": helper.twice(int(row["id"]))})
print(sc.master, sorted((row["id"], row["twice"]) for row in changed.toDF().collect()), flush=True)
sc.parallelize([600], 1).foreach(time.sleep)
"""


def test_a_job_runs_on_a_cluster_and_can_be_stopped_when_its_worker_is_lost(tmp_path: Path) -> None:
    python = python_of_executors(tmp_path)
    inherited = {"PYTHONPATH": python["PYTHONPATH"]}
    with (
        standalone_cluster(tmp_path / "cluster", workers=1, environment=inherited) as cluster,
        running_server(
            tmp_path / "home", arguments=["--jobs", *QUICK, "--jobs-lake-folder", "--jobs-master", cluster.url]
        ) as server,
    ):
        make_role(server)
        jobs = Jobs(server=server, glue=server.client("glue"))
        (server.lake / "lake/sales").mkdir(parents=True)
        (server.lake / "lake/sales/a.csv").write_text("id\n1\n2\n3\n")
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.pyspark.python": python["PYSPARK_PYTHON"],
        }
        conf = " --conf ".join(f"{name}={value}" for name, value in settings.items())
        arguments = {"--extra-py-files": jobs.script("helper", HELPER), "--conf": conf}
        jobs.create("far", JOB, "glueetl", DefaultArguments=arguments, WorkerType="G.1X", NumberOfWorkers=2)
        run_id = jobs.start("far")
        wait_until(lambda: jobs.output(run_id) or jobs.run("far", run_id)["JobRunState"] == "FAILED", seconds=120)
        assert jobs.output(run_id) == [f"{cluster.url} [('2', 4), ('3', 6)]"], jobs.output(run_id, "error")
        sleeping = wait_until(lambda: bool(cluster.executors()[0].children()), seconds=240)
        assert sleeping
        cluster.kill_worker(0)
        # The run waits for another worker, and its log says so.
        told = wait_until(lambda: "Lost executor" in "".join(jobs.output(run_id, "error")), seconds=240)
        assert told, jobs.output(run_id, "error")
        assert jobs.run("far", run_id)["JobRunState"] == "RUNNING"
        jobs.glue.batch_stop_job_run(JobName="far", JobRunIds=[run_id])
        assert jobs.wait("far", run_id)["JobRunState"] == "STOPPED"
        folder = str(server.home / "jobs")
        assert not [
            process.pid for process in psutil.process_iter(["cmdline"]) if folder in " ".join(process.info["cmdline"] or ())
        ]
