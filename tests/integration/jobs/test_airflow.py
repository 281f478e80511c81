"""Airflow's Glue operators and sensors against a real server, in an environment of their own (``airflow_flows``)."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.jobs.conftest import Jobs, jobs_beside_s3

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".tools" / "job-clients" / "bin" / "python"

SAYS = "import sys\nprint('says', sys.argv[1:])\n"
WAITS = "import time\nprint('waits', flush=True)\ntime.sleep(600)\n"
FAILS = "raise ValueError('no such day')\n"
SPARK = """
from awsglue.context import GlueContext
from pyspark.context import SparkContext
print("rows", GlueContext(SparkContext.getOrCreate()).spark_session.range(3).count())
"""
FAILED = {"killed", "fails", "deferred_fails"}
TASKS = {
    *("says", "hooks", "updated", "deferred", "quiet", "started", "sensor", "later", "crawled", "again", "crawl"),
    *("partition", "awaited", *FAILED),
}


@dataclass(frozen=True)
class Dag:
    """What Airflow printed, and the server that it spoke to."""

    jobs: Jobs
    states: dict[str, str]
    printed: str

    def only_run(self, name: str) -> Any:
        (run,) = self.jobs.glue.get_job_runs(JobName=name)["JobRuns"]
        return run


@pytest.fixture(scope="module")
def dag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dag]:
    folder: Path = tmp_path_factory.mktemp("airflow")
    with jobs_beside_s3(folder, {"Effect": "Allow", "Action": ["glue:*", "s3:*"], "Resource": "*"}) as jobs:
        for name, text in (("says", SAYS), ("waits", WAITS), ("fails", FAILS)):
            jobs.script(name, text)
        data = jobs.server.lake / "lake/sales/day=2026-11-22/a.csv"
        data.parent.mkdir(parents=True)
        data.write_text("id,price\n1,2\n")
        jobs.glue.create_database(DatabaseInput={"Name": "shop"})
        yield _run(jobs, folder)


def _run(jobs: Jobs, folder: Path) -> Dag:
    (folder / "dags").mkdir()
    script = shutil.copy(Path(__file__).with_name("airflow_flows.py"), folder / "dags")
    (folder / "spark.py").write_text(SPARK)
    server = jobs.server
    extra = {
        "endpoint_url": server.endpoint_url,
        "region_name": server.region,
        "service_config": {"s3": {"endpoint_url": jobs.s3_url}},
    }
    connection = {"conn_type": "aws", "login": server.access_key_id, "password": server.secret_access_key, "extra": extra}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AIRFLOW_"))}
    done = subprocess.run(
        [str(PYTHON), script],
        env={
            **inherited,
            "AIRFLOW_HOME": str(folder / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(connection),
            "SPARK_SCRIPT": str(folder / "spark.py"),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return Dag(jobs=jobs, states=json.loads(done.stdout.splitlines()[-1]), printed=done.stdout)


def test_operators_and_sensors_end_as_they_do_at_aws(dag: Dag) -> None:
    expected = {name: "failed" if name in FAILED else "success" for name in TASKS}
    assert dag.states == expected, dag.printed[-20000:]


def test_an_operator_creates_its_job_and_shows_the_logs_of_its_run(dag: Dag) -> None:
    assert "Glue Job Run /aws-glue/jobs/output Logs:\n\tsays ['--day', '1']\n" in dag.printed
    *_, first = dag.jobs.glue.get_job_runs(JobName="says")["JobRuns"]
    assert (first["JobRunState"], first["Timeout"], first["MaxCapacity"]) == ("SUCCEEDED", 7, 1.0)


def test_an_operator_uploads_its_script_and_updates_its_job_and_tags(dag: Dag) -> None:
    assert "Glue Job Run /aws-glue/jobs/output Logs:\n\trows 3\n" in dag.printed
    result = dag.jobs.glue.get_job(JobName="says")["Job"]
    assert result["Command"] == {"Name": "glueetl", "ScriptLocation": "s3://lake/artifacts/glue-scripts/spark.py"}
    assert result["LogUri"] == "s3://lake/logs/glue-logs/says"
    arn = f"arn:aws:glue:{dag.jobs.server.region}:{dag.jobs.server.account}"
    assert dag.jobs.glue.get_tags(ResourceArn=f"{arn}:job/says")["Tags"] == {"by": "updated"}
    assert dag.jobs.glue.get_tags(ResourceArn=f"{arn}:crawler/sales")["Tags"] == {"team": "b"}


def test_a_killed_operator_stops_its_run(dag: Dag) -> None:
    run = dag.jobs.wait("killed", dag.only_run("killed")["Id"])
    assert run["JobRunState"] == "STOPPED", run


def test_a_failed_run_fails_its_task_with_its_reason(dag: Dag) -> None:
    reason = dag.only_run("fails")["ErrorMessage"]
    assert reason == "Error Category: UNCLASSIFIED_ERROR; Failed Line Number: 1; ValueError: no such day (fails.py)"
    assert f"AWS Glue job failed.: FAILED - {reason}" in dag.printed
