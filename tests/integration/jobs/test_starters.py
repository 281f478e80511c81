"""Who may start a job, and not update it, brings no code into it: by arguments, triggers, or a run of another's again."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.jobs.starters import CODE_ARGUMENTS
from tests.integration.jobs.conftest import Jobs

STARTER = {"Effect": "Allow", "Action": ["glue:StartJobRun", "glue:*Trigger", "glue:GetJobRun*"], "Resource": "*"}
AUTHOR = {"Effect": "Allow", "Action": "glue:*", "Resource": "*"}
BROUGHT = [
    *({name: "s3://lake/scripts/mine.py"} for name in sorted(CODE_ARGUMENTS)),
    {"--Extra-Py-Files": "s3://lake/mine.py"},
    {"--extra-py-files=s3://lake/mine.py": ""},
    {"--day": "--extra-py-files", "s3://lake/mine.py": ""},
    {"--day": "--extra-jars=s3://lake/mine.jar"},
    {"--penstock_starter_arguments": "--conf"},
]


def client(jobs: Jobs, name: str, statement: Mapping[str, Any]) -> Any:
    iam = jobs.server.client("iam")
    iam.create_user(UserName=name)
    document = json.dumps({"Version": "2012-10-17", "Statement": statement})
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return jobs.server.client("glue", access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


def test_a_starter_sets_no_argument_that_brings_code(jobs: Jobs) -> None:
    starter, author = client(jobs, "starter", STARTER), client(jobs, "author", AUTHOR)
    own = {"--extra-files": "s3://lake/scripts/own.txt", "--penstock-starter-arguments": "--conf, --JOB_NAME"}
    (jobs.server.lake / "lake/scripts").mkdir(parents=True, exist_ok=True)
    (jobs.server.lake / "lake/scripts/own.txt").write_text("own")
    jobs.create("harmless", "import os; print(sorted(os.listdir()))", DefaultArguments=own)
    jobs.create("other", "print('other')", DefaultArguments={"--penstock-starter-arguments": ""})

    def refused(call: Any, **members: Any) -> str:
        with pytest.raises(ClientError) as error:
            call(**members)
        assert error.value.response["Error"]["Code"] == "AccessDeniedException", error.value
        return str(error.value)

    for number, arguments in enumerate(BROUGHT):
        allowed = {"--conf", "--JOB_NAME"} & {*arguments}
        if not allowed:
            assert "glue:UpdateJob" in refused(starter.start_job_run, JobName="harmless", Arguments=arguments)
        actions = [{"JobName": "harmless"}, {"JobName": "other", "Arguments": arguments}]
        trigger = {"Name": f"t{number}", "Type": "ON_DEMAND", "Actions": actions}
        assert "of job other" in refused(starter.create_trigger, **trigger)
        starter.create_trigger(**{**trigger, "Actions": actions[:1]})
        assert "of job other" in refused(starter.update_trigger, Name=f"t{number}", TriggerUpdate={"Actions": actions})
        if number == 0:
            author.update_trigger(Name="t0", TriggerUpdate={"Actions": actions})
            starter.update_trigger(Name="t0", TriggerUpdate={"Description": "as it is"})
        author.delete_trigger(Name=f"t{number}")  # other tests list the triggers of this server
    # What the job itself has, and what it allows, is a starter's.
    same = {"--extra-files": own["--extra-files"], "--conf": "spark.a=b", "--day": "--not-a-known-one"}
    run = jobs.wait("harmless", starter.start_job_run(JobName="harmless", Arguments=same)["JobRunId"])
    assert jobs.output(run["Id"]) == ["['harmless.py', 'own.txt']"]
    jobs.script("brought", "")
    brought = {"--extra-py-files": "s3://lake/scripts/brought.py"}
    run = jobs.wait("harmless", author.start_job_run(JobName="harmless", Arguments=brought)["JobRunId"])
    assert jobs.output(run["Id"]) == ["['brought.py', 'harmless.py', 'own.txt']"]
    told = refused(starter.start_job_run, JobName="harmless", JobRunId=run["Id"])
    assert "The argument --extra-py-files of job harmless can only be set by a caller who may update the job" in told
