"""Triggers and workflows of a real server, as boto3 makes and starts them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.jobs.triggers import TRIGGERS
from penstock.retries import wait_until
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from tests.integration.jobs.conftest import Jobs

SAYS = "import sys\nprint(sys.argv[1:])\n"
FAILS = "raise SystemExit(3)\n"


def runs_of(jobs: Jobs, name: str) -> list[Any]:
    return list(jobs.glue.get_job_runs(JobName=name)["JobRuns"])


def one_run(jobs: Jobs, name: str) -> Any:
    assert wait_until(lambda: runs_of(jobs, name), seconds=240)
    return jobs.wait(name, runs_of(jobs, name)[0]["Id"])


def test_conditional_triggers_follow_jobs_that_a_trigger_started(jobs: Jobs) -> None:
    for name in ("first", "second", "third", "never"):
        jobs.create(name, SAYS)
    create = jobs.glue.create_trigger
    create(Name="begin", Type="ON_DEMAND", Actions=[{"JobName": "first", "Arguments": {"--a": "1"}}, {"JobName": "second"}])

    def ended(*names: str, state: str = "SUCCEEDED", logical: str = "AND") -> Any:
        conditions = [{"LogicalOperator": "EQUALS", "JobName": item, "State": state} for item in names]
        return {"Logical": logical, "Conditions": conditions}

    then = {"Type": "CONDITIONAL", "StartOnCreation": True}
    create(Name="both", Predicate=ended("first", "second"), Actions=[{"JobName": "third"}], **then)
    create(Name="other", Predicate=ended("first", state="FAILED"), Actions=[{"JobName": "never"}], **then)
    # Started by hand, it fires nothing, as in Glue.
    jobs.wait("first", jobs.start("first"))
    jobs.glue.start_trigger(Name="begin")
    third = one_run(jobs, "third")
    assert (third["JobRunState"], third["TriggerName"]) == ("SUCCEEDED", "both")
    before = jobs.glue.get_job_run(JobName="third", RunId=third["Id"], PredecessorsIncluded=True)["JobRun"]
    assert sorted(predecessor_run["JobName"] for predecessor_run in before["PredecessorRuns"]) == ["first", "second"]
    assert [len(runs_of(jobs, item)) for item in ("first", "second", "third", "never")] == [2, 1, 1, 0]
    assert jobs.output(runs_of(jobs, "first")[0]["Id"]) == ["['--a', '1']"]
    assert jobs.glue.get_triggers(DependentJobName="third")["Triggers"][0]["State"] == "ACTIVATED"
    jobs.glue.stop_trigger(Name="both")
    assert jobs.glue.get_trigger(Name="both")["Trigger"]["State"] == "DEACTIVATED"
    assert sorted(jobs.glue.list_triggers()["TriggerNames"]) == ["begin", "both", "other"]
    for name in ("begin", "both", "other"):
        jobs.glue.delete_trigger(Name=name)


def test_what_a_trigger_cannot_do_is_refused(jobs: Jobs) -> None:
    jobs.create("j", SAYS)
    action, started = [{"JobName": "j"}], {"LogicalOperator": "EQUALS", "JobName": "j", "State": "SUCCEEDED"}
    for members, message in (
        ({"Type": "EVENT"}, "EventBridge.*StartWorkflowRun"),
        ({"Type": "SCHEDULED"}, "schedule is needed"),
        ({"Type": "SCHEDULED", "Schedule": "rate(5 minutes)"}, "six fields"),
        ({"Type": "CONDITIONAL"}, "predicate is needed"),
        ({"Type": "ON_DEMAND", "StartOnCreation": True}, "StartTrigger"),
        ({"Type": "ON_DEMAND", "Actions": [{}]}, "either a job or a crawler"),
        ({"Type": "ON_DEMAND", "Actions": action * 51}, "from 1 to 50 actions"),
        ({"Type": "CONDITIONAL", "Predicate": {"Conditions": [started]}}, "predicate and in the actions"),
    ):
        with pytest.raises(jobs.glue.exceptions.InvalidInputException, match=message):
            jobs.glue.create_trigger(**{"Name": "wrong", "Actions": action, **members})
    for missing in ({"Actions": [{"JobName": "none"}]}, {"Actions": [{"CrawlerName": "none"}]}, {"WorkflowName": "none"}):
        with pytest.raises(jobs.glue.exceptions.EntityNotFoundException, match="none was not found"):
            jobs.glue.create_trigger(**{"Name": "wrong", "Type": "ON_DEMAND", "Actions": action, **missing})
    jobs.glue.create_trigger(Name="noon", Type="SCHEDULED", Schedule="cron(0 12 * * ? *)", Actions=action)
    with pytest.raises(jobs.glue.exceptions.EntityNotFoundException, match="none was not found"):
        jobs.glue.update_trigger(Name="noon", TriggerUpdate={"Actions": [{"JobName": "none"}]})
    with pytest.raises(jobs.glue.exceptions.AlreadyExistsException):
        jobs.glue.create_trigger(Name="noon", Type="SCHEDULED", Schedule="cron(0 12 * * ? *)", Actions=action)
    changed = jobs.glue.update_trigger(Name="noon", TriggerUpdate={"Schedule": "cron(0 13 * * ? *)"})["Trigger"]
    assert (changed["Schedule"], changed["State"], changed["Actions"]) == ("cron(0 13 * * ? *)", "CREATED", action)


def test_a_workflow_runs_its_jobs_and_crawlers_in_order(jobs: Jobs) -> None:
    glue = jobs.glue
    for name, text in (("load", SAYS), ("broken", FAILS), ("report", SAYS), ("clean", SAYS)):
        jobs.create(name, text)
    glue.create_database(DatabaseInput={"Name": "shop"})
    targets = {"S3Targets": [{"Path": "s3://lake/scripts/"}]}
    glue.create_crawler(Name="files", Role="etl", DatabaseName="shop", Targets=targets)
    glue.create_workflow(Name="night", DefaultRunProperties={"day": "1", "size": "2"}, MaxConcurrentRuns=1)
    with pytest.raises(glue.exceptions.InvalidInputException, match="no start trigger"):
        glue.start_workflow_run(Name="night")

    def after(name: str, conditions: list[Any], actions: list[Any], **more: Any) -> None:
        predicate = {"Conditions": [{"LogicalOperator": "EQUALS", **condition} for condition in conditions], **more}
        glue.create_trigger(
            Name=name, WorkflowName="night", Type="CONDITIONAL", StartOnCreation=True, Predicate=predicate, Actions=actions
        )

    begin = [{"JobName": "load"}, {"JobName": "broken"}, {"CrawlerName": "files"}]
    glue.create_trigger(Name="begin-night", WorkflowName="night", Type="ON_DEMAND", Actions=begin)
    with pytest.raises(glue.exceptions.InvalidInputException, match="start trigger begin-night, and can have one"):
        glue.create_trigger(Name="again", WorkflowName="night", Type="ON_DEMAND", Actions=begin)
    done = [{"JobName": "load", "State": "SUCCEEDED"}, {"CrawlerName": "files", "CrawlState": "SUCCEEDED"}]
    after("done", done, [{"JobName": "report"}], Logical="AND")
    after("failed", [{"JobName": "broken", "State": "SUCCEEDED"}], [{"JobName": "clean"}])
    run_id = glue.start_workflow_run(Name="night", RunProperties={"size": "3"})["RunId"]
    with pytest.raises(glue.exceptions.ConcurrentRunsExceededException):
        glue.start_workflow_run(Name="night")
    glue.put_workflow_run_properties(Name="night", RunId=run_id, RunProperties={"rows": "7"})

    def run() -> Any:
        return glue.get_workflow_run(Name="night", RunId=run_id, IncludeGraph=True)["Run"]

    assert wait_until(lambda: run()["Status"] != "RUNNING", seconds=240), run()
    result = run()
    assert (result["Status"], result["WorkflowRunProperties"]) == ("COMPLETED", {"day": "1", "size": "3", "rows": "7"})
    counts = {name: result["Statistics"][name] for name in ("TotalActions", "SucceededActions", "FailedActions")}
    assert counts == {"TotalActions": 4, "SucceededActions": 2, "FailedActions": 1}
    report = one_run(jobs, "report")
    assert jobs.output(report["Id"]) == [f"['--WORKFLOW_NAME', 'night', '--WORKFLOW_RUN_ID', '{run_id}']"]
    assert runs_of(jobs, "clean") == []
    kinds = sorted((node["Type"], node["Name"]) for node in result["Graph"]["Nodes"])
    assert kinds[:3] == [("CRAWLER", "files"), ("JOB", "broken"), ("JOB", "clean")]
    assert {"SourceId": "wnode_job_load", "DestinationId": "wnode_trigger_done"} in result["Graph"]["Edges"]
    assert glue.get_workflow(Name="night")["Workflow"]["LastRun"]["WorkflowRunId"] == run_id
    assert [item["WorkflowRunId"] for item in glue.get_workflow_runs(Name="night")["Runs"]] == [run_id]
    with pytest.raises(glue.exceptions.IllegalWorkflowStateException):
        glue.stop_workflow_run(Name="night", RunId=run_id)
    _resume(jobs, run_id, {node["Name"]: node["UniqueId"] for node in result["Graph"]["Nodes"]})
    glue.delete_workflow(Name="night")
    assert glue.list_workflows()["Workflows"] == []
    assert glue.get_job(JobName="load")["Job"]["Name"] == "load"


def _resume(jobs: Jobs, run_id: str, nodes: dict[str, str]) -> None:
    """Mend the failed job of the completed run, and resume the run at it."""
    glue = jobs.glue
    with pytest.raises(glue.exceptions.InvalidInputException, match="has not run the node"):
        glue.resume_workflow_run(Name="night", RunId=run_id, NodeIds=[nodes["clean"]])
    jobs.script("broken", SAYS)
    resumed = glue.resume_workflow_run(Name="night", RunId=run_id, NodeIds=[nodes["broken"]])
    assert resumed["NodeIds"] == [nodes["broken"]]

    def run() -> Any:
        return glue.get_workflow_run(Name="night", RunId=resumed["RunId"])["Run"]

    assert wait_until(lambda: run()["Status"] == "COMPLETED", seconds=240), run()
    assert one_run(jobs, "clean")["JobRunState"] == "SUCCEEDED"
    assert (run()["PreviousRunId"], run()["WorkflowRunProperties"]["rows"]) == (run_id, "7")
    assert len(runs_of(jobs, "load")) == 1


def test_security_configurations_promise_no_encryption_that_is_not_done(jobs: Jobs) -> None:
    glue = jobs.glue
    plain = {
        "S3Encryption": [{"S3EncryptionMode": "DISABLED"}],
        "CloudWatchEncryption": {"CloudWatchEncryptionMode": "DISABLED"},
    }
    glue.create_security_configuration(Name="plain", EncryptionConfiguration=plain)
    assert glue.get_security_configuration(Name="plain")["SecurityConfiguration"]["EncryptionConfiguration"] == plain
    for wrong in (
        {"S3Encryption": [{"S3EncryptionMode": "SSE-KMS", "KmsKeyArn": "arn:aws:kms:eu-west-1:111122223333:key/1"}]},
        {"JobBookmarksEncryption": {"JobBookmarksEncryptionMode": "CSE-KMS"}},
    ):
        with pytest.raises(glue.exceptions.InvalidInputException, match="KMS is not served"):
            glue.create_security_configuration(Name="kms", EncryptionConfiguration=wrong)
    assert [
        security_configuration["Name"]
        for security_configuration in glue.get_security_configurations()["SecurityConfigurations"]
    ] == ["plain"]
    glue.delete_security_configuration(Name="plain")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_security_configuration(Name="plain")


def test_a_server_follows_the_schedules_of_triggers_and_crawlers(jobs: Jobs) -> None:
    jobs.create("hourly", SAYS)
    glue, schedule = jobs.glue, "cron(0 12 * * ? *)"
    glue.create_trigger(
        Name="hourly", Type="SCHEDULED", Schedule=schedule, Actions=[{"JobName": "hourly"}], StartOnCreation=True
    )
    glue.create_database(DatabaseInput={"Name": "hourly"})
    targets = {"S3Targets": [{"Path": "s3://lake/scripts/"}]}
    glue.create_crawler(Name="hourly", Role="etl", DatabaseName="hourly", Targets=targets, Schedule=schedule)
    # No schedule is shorter than five minutes: here the clock is put forward by putting the next run back.
    database = Database(f"sqlite:///{jobs.server.home / 'store/penstock.db'}")
    now = datetime.now(UTC)
    SqlJobStore(database).change(TRIGGERS, "hourly", lambda found: replace(found, next_run=now))
    SqlCrawlStore(database).change("hourly", lambda found: replace(found, next_run=now))
    database.close()
    assert one_run(jobs, "hourly")["TriggerName"] == "hourly"
    assert wait_until(lambda: "LastCrawl" in glue.get_crawler(Name="hourly")["Crawler"], seconds=240)
    glue.stop_trigger(Name="hourly")
