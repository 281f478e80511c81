"""Runs of jobs by a real server, as boto3 starts and reads them. Python shell jobs: their processes are cheap."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from penstock.client.run_bookmarks import RunBookmarks
from penstock.errors import AccessDenied
from penstock.interpreter import python_module
from penstock.retries import wait_until
from tests.integration.jobs.conftest import Jobs

WHO = """
import sys, boto3
print(sys.argv[1:])
print(boto3.client("sts").get_caller_identity()["Arn"])
try:
    boto3.client("glue").create_database(DatabaseInput={"Name": "x"})
except Exception as error:
    print(type(error).__name__)
"""

MARKS = """
import os, json
from penstock.client.run_bookmarks import RunBookmarks
from penstock.errors import PenstockError
bookmarks = RunBookmarks.of_run(os.environ)
found = bookmarks.read()
print(found.version, found.document)
print(bookmarks.commit(json.dumps({"seen": found.version}), version=found.version).version)
try:
    bookmarks.commit("{}", version=found.version)
except PenstockError as error:
    print(type(error).__name__, "at version" in str(error))
"""


def test_a_run_has_its_arguments_and_the_rights_of_its_role(jobs: Jobs) -> None:
    jobs.create("who", WHO, DefaultArguments={"--day": "1", "--size": "2"}, NonOverridableArguments={"--size": "3"})
    run = jobs.wait("who", jobs.start("who", Arguments={"--day": "4", "--size": "5"}))
    assert run["JobRunState"] == "SUCCEEDED", run
    assert run["Arguments"] == {"--day": "4", "--size": "5"}
    arguments, who, refused = jobs.output(run["Id"])
    assert arguments == "['--day', '4', '--size', '3']"
    assert who.startswith(f"arn:aws:sts::{jobs.server.account}:assumed-role/etl/GlueJobRunnerSession-")
    assert refused == "AccessDeniedException"


def test_a_run_commits_the_bookmark_of_its_job_once_for_a_version(jobs: Jobs) -> None:
    jobs.create("marks", MARKS)
    with pytest.raises(jobs.glue.exceptions.EntityNotFoundException):
        jobs.glue.get_job_bookmark(JobName="marks")
    for number in range(2):
        run = jobs.wait("marks", jobs.start("marks"))
        before = "" if number == 0 else '{"seen": 0}'
        assert jobs.output(run["Id"]) == [f"{number} {before}", f"{number + 1}", "ConcurrentModification True"], run
    entry = jobs.glue.get_job_bookmark(JobName="marks")["JobBookmarkEntry"]
    assert (entry["Version"], entry["Run"], entry["RunId"], entry["JobBookmark"]) == (2, 2, run["Id"], '{"seen": 1}')
    assert jobs.glue.reset_job_bookmark(JobName="marks")["JobBookmarkEntry"]["Version"] == 3
    run = jobs.wait("marks", jobs.start("marks"))
    assert jobs.output(run["Id"])[:2] == ["3 ", "4"]


SOURCE = """
import sys
from penstock.glue.jobs.bookmark_store import bookmark_store
from penstock.glue.jobs.bookmarks import Bookmarks
bookmarks, runs = Bookmarks(), sys.argv[2].split()[1:]
store = bookmark_store("source", None)
bookmarks.begin(store, **(dict(after=runs[0], upto=runs[1], paused=True) if runs else {}))
marks = bookmarks.marks("rows")
print(marks.after, marks.upto)
bookmarks.propose("rows", {"n": ((marks.after or {}).get("n") or 0) + 1})
bookmarks.commit()
"""


def test_a_script_goes_on_from_the_bookmark_of_its_job(jobs: Jobs) -> None:
    jobs.create("source", SOURCE, DefaultArguments={"--runs": "of"})
    runs: list[str] = []
    for expected in ("None None", "{'n': 1} None"):
        run = jobs.wait("source", jobs.start("source"))
        runs.append(run["Id"])
        assert jobs.output(run["Id"]) == [expected], run
    paused = jobs.wait("source", jobs.start("source", Arguments={"--runs": " ".join(["of", *runs])}))
    assert jobs.output(paused["Id"]) == ["{'n': 1} {'n': 2}"], paused
    assert jobs.glue.get_job_bookmark(JobName="source")["JobBookmarkEntry"]["Version"] == 2


WAITS = """
import os, sys, time
print("waits", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
"""


def test_a_failed_run_says_why_and_is_tried_again_as_often_as_its_job_says(jobs: Jobs) -> None:
    jobs.create("fails", "import sys\nprint('one', file=sys.stderr)\nraise ValueError('no such day')\n", MaxRetries=1)
    first = jobs.start("fails")
    again = f"{first}_attempt_1"
    assert wait_until(lambda: len(jobs.glue.get_job_runs(JobName="fails")["JobRuns"]) == 2, seconds=240)
    run = jobs.wait("fails", again)
    assert [job_run["Id"] for job_run in jobs.glue.get_job_runs(JobName="fails")["JobRuns"]] == [again, first]
    assert (run["JobRunState"], run["ErrorMessage"]) == (
        "FAILED",
        "Error Category: UNCLASSIFIED_ERROR; Failed Line Number: 3; ValueError: no such day (fails.py)",
    )
    assert (run["Attempt"], run["PreviousRunId"]) == (1, first)
    assert jobs.output(first, "error")[0] == "one"
    page = jobs.glue.get_job_runs(JobName="fails", MaxResults=1)
    page = jobs.glue.get_job_runs(JobName="fails", MaxResults=1, NextToken=page["NextToken"])
    assert [job_run["Id"] for job_run in page["JobRuns"]] == [first]


def test_a_job_has_as_many_runs_at_once_as_it_may_and_they_are_stopped(jobs: Jobs, tmp_path: Path) -> None:
    jobs.create("waits", WAITS)
    arguments = {"--file": str(tmp_path / "go")}
    running = jobs.start("waits", Arguments=arguments)
    with pytest.raises(jobs.glue.exceptions.ConcurrentRunsExceededException):
        jobs.start("waits", Arguments=arguments)
    waiting = jobs.start("waits", Arguments=arguments, JobRunQueuingEnabled=True)
    assert jobs.run("waits", waiting)["JobRunState"] == "WAITING"
    jobs.wait("waits", running, {"RUNNING"})
    with pytest.raises(jobs.glue.exceptions.InvalidInputException, match="is running"):
        jobs.glue.delete_job(JobName="waits")
    stopped = jobs.glue.batch_stop_job_run(JobName="waits", JobRunIds=[running, "jr_none"])
    assert stopped["SuccessfulSubmissions"] == [{"JobName": "waits", "JobRunId": running}]
    assert [error["ErrorDetail"]["ErrorCode"] for error in stopped["Errors"]] == ["EntityNotFoundException"]
    assert jobs.wait("waits", running)["JobRunState"] == "STOPPED"
    (tmp_path / "go").touch()
    assert jobs.wait("waits", waiting)["JobRunState"] == "SUCCEEDED"
    again = jobs.glue.start_job_run(JobName="waits", JobRunId=running)["JobRunId"]
    run = jobs.wait("waits", again)
    assert (run["JobRunState"], run["Arguments"]) == ("SUCCEEDED", arguments)
    jobs.glue.delete_job(JobName="waits")
    with pytest.raises(jobs.glue.exceptions.EntityNotFoundException):
        jobs.run("waits", again)


def test_what_a_run_cannot_have_is_refused(jobs: Jobs) -> None:
    create = jobs.glue.create_job
    for members, message in (
        ({"Command": {"Name": "glueray", "ScriptLocation": "s3://lake/a.py"}}, "glueray"),
        ({"Command": {"Name": "glueetl", "ScriptLocation": "a.py"}}, "location of a script"),
        ({"Command": {"Name": "glueetl", "ScriptLocation": "s3://lake/a.py", "PythonVersion": "2"}}, "PythonVersion"),
        ({"WorkerType": "G.1X"}, "belong together"),
        ({"DefaultArguments": {"--additional-python-modules": "git+https://h/x"}}, "location of a wheel"),
        ({"MaxRetries": 11}, "MaxRetries"),
    ):
        given = {"Command": {"Name": "glueetl", "ScriptLocation": "s3://lake/a.py"}, **members}
        with pytest.raises(jobs.glue.exceptions.InvalidInputException, match=message):
            create(Name="wrong", Role="etl", **given)
    kept = {"Connections": {"Connections": ["c"]}, "NotificationProperty": {"NotifyDelayAfter": 5}, "ExecutionClass": "FLEX"}
    create(Name="kept", Role="etl", Command={"Name": "glueetl", "ScriptLocation": "s3://lake/a.py"}, **kept)
    assert jobs.glue.get_job(JobName="kept")["Job"].items() >= kept.items()
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/nothing.py"}
    create(Name="nothing", Role="etl", Command=command)
    run = jobs.wait("nothing", jobs.start("nothing"))
    assert run["ErrorMessage"].startswith("Error Category: LAUNCH_ERROR; s3://lake/nothing.py does not exist")
    jobs.glue.update_job(JobName="nothing", JobUpdate={"Role": "nobody", "Command": command})
    run = jobs.wait("nothing", jobs.start("nothing"))
    assert run["JobRunState"] == "FAILED"
    assert run["ErrorMessage"].startswith(
        "Error Category: LAUNCH_ERROR; glue.amazonaws.com may not assume the role nobody, or it does not exist"
    )


def test_the_token_of_a_run_ends_with_it(jobs: Jobs) -> None:
    jobs.create("token", "import os\nprint(os.environ['PENSTOCK_RUN_URL'], os.environ['PENSTOCK_RUN_TOKEN'])\n")
    url, token = jobs.output(jobs.wait("token", jobs.start("token"))["Id"])[0].split()
    for wrong in (token, token[:-1], "", "x.y.z"):
        with pytest.raises(AccessDenied):
            RunBookmarks(url=url, token=wrong).read()


def test_the_command_line_creates_starts_and_follows_jobs(jobs: Jobs) -> None:
    script = jobs.server.home.parent / "readable" / "lines.py"
    script.write_text("import sys\nprint(sys.argv[1:])\nprint('gone', file=sys.stderr)\nsys.exit(int(sys.argv[2]))\n")

    def penstock(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*python_module("penstock", "jobs"), *arguments],
            env={**os.environ, **jobs.server.environment()},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    made = penstock("create", "--role", "etl", "--kind", "pythonshell", "lines", str(script), "--status", "0")
    assert made == (0, "Job lines is created.\n", "")
    assert penstock("create", "--role", "etl", "lines", str(script))[0] == 1
    code, output, _ = penstock("start", "--wait", "lines")
    run_id, printed = output.splitlines()
    assert (code, printed) == (0, "['--status', '0']")
    code, output, error = penstock("start", "--wait", "lines", "--status=3")
    assert (code, output.splitlines()[1:]) == (4, ["['--status', '3']", "gone"])
    assert "did not succeed: Error Category: UNCLASSIFIED_ERROR; SystemExit: 3 (gone)" in error
    assert penstock("logs", "--error", "lines", run_id)[1] == "gone\n"
    assert penstock("logs", "lines")[1] == "['--status', '3']\n"
    states = [line.split()[1] for line in penstock("runs", "lines")[1].splitlines()]
    assert states == ["STATE", "FAILED", "SUCCEEDED"]
    assert "lines" in penstock("list")[1]
    assert penstock("bookmarks", "reset", "lines")[1] == "The bookmark of job lines is reset.\n"
    code, _, error = penstock("logs", "lines", "jr_none")
    assert (code, "was not found" in error) == (1, True)
    code, _, error = penstock("start", "none")
    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith("penstock: Job none was not found.")
    assert error.endswith("'penstock jobs list' shows the jobs, and 'penstock jobs runs JOB' the runs of one.\n")
    assert penstock("delete", "lines")[0] == 0


def test_logs_are_read_by_cloudwatchs_api(jobs: Jobs) -> None:
    jobs.create("talks", "for number in range(5):\n    print('line', number, 'ü')\n")
    run_id = jobs.wait("talks", jobs.start("talks"))["Id"]
    logs = jobs.server.client("logs")
    stream = {"logGroupName": "/aws-glue/jobs/output", "logStreamName": run_id}
    lines = [f"line {number} ü" for number in range(5)]
    head = logs.get_log_events(**stream, startFromHead=True, limit=2)
    assert [event["message"] for event in head["events"]] == lines[:2]
    rest = logs.get_log_events(**stream, nextToken=head["nextForwardToken"])
    assert [event["message"] for event in rest["events"]] == lines[2:]
    end = logs.get_log_events(**stream, nextToken=rest["nextForwardToken"])
    assert (end["events"], end["nextForwardToken"]) == ([], rest["nextForwardToken"])
    last = logs.get_log_events(**stream, limit=2)
    assert [event["message"] for event in last["events"]] == lines[3:]
    before = logs.get_log_events(**stream, limit=2, nextToken=last["nextBackwardToken"])
    assert [event["message"] for event in before["events"]] == lines[1:3]
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName="/aws-glue/jobs/output", logStreamNames=[run_id], PaginationConfig={"PageSize": 2}
    )
    assert [event["message"] for page in pages for event in page["events"]] == lines
    # As "aws logs tail" of the CLI's second version: all streams, each event once by its id.
    group = "/aws-glue/jobs/output"
    other = jobs.wait("talks", jobs.start("talks"))["Id"]
    result = {}
    for size in (3, 4):
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, logStreamNamePrefix="jr_", interleaved=True, PaginationConfig={"PageSize": size}
        )
        events = [event for page in pages for event in page["events"]]
        assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
        assert len({event["eventId"] for event in events}) == len(events)
        result[size] = [(event["logStreamName"], event["message"], event["eventId"]) for event in events]
    assert result[3] == result[4]
    for run in (run_id, other):
        assert [message for name, message, _ in result[3] if name == run] == lines
    since = logs.get_log_events(logGroupName=group, logStreamName=other)["events"][0]["timestamp"]
    recent = logs.filter_log_events(logGroupName=group, startTime=since)["events"]
    assert [item["message"] for item in recent] == lines
    assert group in [
        log_group["logGroupName"] for log_group in logs.describe_log_groups(logGroupNamePrefix="/aws-glue/")["logGroups"]
    ]
    latest = logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True, limit=2)["logStreams"]
    assert [item["logStreamName"] for item in latest] == [other, run_id]
    assert latest[0]["creationTime"] <= latest[0]["firstEventTimestamp"] == since <= latest[0]["lastEventTimestamp"]
    for wrong in ({"logGroupName": "/x"}, {"logStreamName": "../x"}, {"logStreamName": "jr_none"}):
        with pytest.raises(logs.exceptions.ResourceNotFoundException):
            logs.get_log_events(**{**stream, **wrong})


def test_a_python_shell_job_imports_wheels_and_has_glue_s_arguments(jobs: Jobs) -> None:
    script = """
import sys
import prices
from awsglue.utils import getResolvedOptions
print(prices.VAT, getResolvedOptions(sys.argv, ["day"])["day"])
"""
    wheel = "prices-1.0-py3-none-any.whl"
    location = jobs.script("prices_job", script)
    with zipfile.ZipFile(jobs.server.lake / "lake/scripts" / wheel, "w") as packed:
        packed.writestr("prices/__init__.py", "VAT = 19\n")
    arguments = {"--extra-py-files": f"s3://lake/scripts/{wheel}", "--day": "2"}
    command = {"Name": "pythonshell", "PythonVersion": "3.9", "ScriptLocation": location}
    jobs.glue.create_job(Name="prices", Role="etl", Command=command, MaxCapacity=0.0625, DefaultArguments=arguments)
    run = jobs.wait("prices", jobs.start("prices"))
    assert (run["JobRunState"], run["MaxCapacity"]) == ("SUCCEEDED", 0.0625), run
    assert jobs.output(run["Id"]) == ["19 2"]
    with pytest.raises(jobs.glue.exceptions.InvalidInputException, match=r"is 0[.]0625 or 1"):
        jobs.glue.create_job(Name="big", Role="etl", Command=command, MaxCapacity=2.0)
