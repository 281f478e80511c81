"""A DAG of Airflow's Glue operators and sensors, unmodified: run by the Python of .tools/job-clients, not by the tests' own.

``dag.test()`` runs the tasks in this process, with the triggers of those that defer. Prints one JSON object, the state of
each task, as the last line. Airflow's connection is in the environment, and the scripts are in the lake.
"""

import json
import os
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.amazon.aws.hooks.glue import GlueJobHook  # type: ignore[import-not-found]
from airflow.providers.amazon.aws.operators.glue import GlueJobOperator  # type: ignore[import-not-found]
from airflow.providers.amazon.aws.operators.glue_crawler import GlueCrawlerOperator  # type: ignore[import-not-found]
from airflow.providers.amazon.aws.sensors.glue import GlueJobSensor  # type: ignore[import-not-found]
from airflow.providers.amazon.aws.sensors.glue_catalog_partition import (  # type: ignore[import-not-found]
    GlueCatalogPartitionSensor,
)
from airflow.providers.amazon.aws.sensors.glue_crawler import GlueCrawlerSensor  # type: ignore[import-not-found]
from airflow.sdk import DAG, task  # type: ignore[import-not-found]
from airflow.utils.db import initdb  # type: ignore[import-not-found]

ONCE: dict[str, Any] = {"waiter_delay": 1, "waiter_max_attempts": 60}
CRAWLER = {
    "Name": "sales",
    "Role": "etl",
    "DatabaseName": "shop",
    "Targets": {"S3Targets": [{"Path": "s3://lake/sales/"}]},
    "Tags": {"team": "a"},
}


def job(task_id: str, script: str, *, name: str | None = None, **settings: Any) -> Any:
    """Return an operator that creates a Python shell job of ``script``, and starts it."""
    command = {"Name": "pythonshell", "PythonVersion": "3.9", "ScriptLocation": f"s3://lake/scripts/{script}.py"}
    return GlueJobOperator(
        task_id=task_id,
        job_name=name or task_id,
        iam_role_name="etl",
        num_of_dpus=1,
        create_job_kwargs={"Command": command, "Tags": {"by": task_id}},
        job_poll_interval=1,
        **settings,
    )


@task  # type: ignore[untyped-decorator]
def hooks(run: str) -> None:
    """What operators of one's own call: the job is there, is made once, and its state is the run's."""
    hook = GlueJobHook(job_name="says", iam_role_name="etl", num_of_dpus=1, s3_bucket="lake")
    assert hook.get_or_create_glue_job() == "says"
    assert [item["Name"] for item in hook.describe_jobs()["Jobs"]].count("says") == 1
    assert hook.get_job_state("says", run) == "SUCCEEDED"
    hook.print_job_logs("says", run, GlueJobHook.LogContinuationTokens())


with DAG("glue", start_date=datetime(2026, 1, 1), schedule=None) as dag:
    says = job("says", "says", verbose=True, script_args={"--day": "1"}, run_job_kwargs={"Timeout": 7})
    # The job of the first task, changed: its tags, and its script, which is a file that the operator puts into the bucket.
    updated = GlueJobOperator(
        task_id="updated",
        job_name="says",
        script_location=os.environ["SPARK_SCRIPT"],
        s3_bucket="lake",
        replace_script_file=True,
        update_config=True,
        iam_role_name="etl",
        create_job_kwargs={"WorkerType": "G.1X", "NumberOfWorkers": 2, "GlueVersion": "5.0", "Tags": {"by": "updated"}},
        script_args={"--day": "2", "--conf": "spark.driver.memory=1g"},
        verbose=True,
        job_poll_interval=1,
    )
    deferred = job("deferred", "says", deferrable=True, verbose=True, **ONCE)
    quiet = job("quiet", "says", name="deferred", deferrable=True, **ONCE)
    started = job("started", "says", wait_for_completion=False)
    sensor = GlueJobSensor(task_id="sensor", job_name="started", run_id=started.output, verbose=True, poke_interval=1)
    later = GlueJobSensor(
        task_id="later", job_name="started", run_id=started.output, deferrable=True, poke_interval=1, max_retries=60
    )
    crawled = GlueCrawlerOperator(task_id="crawled", config=CRAWLER, poll_interval=1)
    again = GlueCrawlerOperator(task_id="again", config={**CRAWLER, "Tags": {"team": "b"}}, deferrable=True, poll_interval=1)
    crawl = GlueCrawlerSensor(task_id="crawl", crawler_name="sales", poke_interval=1)
    partition = GlueCatalogPartitionSensor(
        task_id="partition", database_name="shop", table_name="sales", expression="day='2026-11-22'", poke_interval=1
    )
    awaited = GlueCatalogPartitionSensor(
        task_id="awaited",
        table_name="sales",
        database_name="shop",
        expression="day>='2026-11-22'",
        deferrable=True,
        poke_interval=1,
        timeout=600,
    )
    # Killed by Airflow after a while, which ends the run, too.
    killed = job("killed", "waits", stop_job_run_on_kill=True, execution_timeout=timedelta(seconds=3))
    fails = job("fails", "fails", trigger_rule="all_done")
    deferred_fails = job("deferred_fails", "fails", deferrable=True, trigger_rule="all_done", **ONCE)
    says >> hooks(says.output) >> updated >> deferred >> quiet >> started >> sensor >> later
    later >> crawled >> again >> crawl >> partition >> awaited >> killed >> fails >> deferred_fails

if __name__ == "__main__":
    initdb()
    found = dag.test()
    states = {task_instance.task_id: task_instance.state for task_instance in found.get_task_instances()}
    print(json.dumps(states))
