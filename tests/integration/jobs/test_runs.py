"""Runs of jobs by a real server, as boto3 starts and reads them. Python shell jobs: their processes are cheap."""

import pytest

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
