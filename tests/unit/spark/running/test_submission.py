"""What is sent to a cluster. EMR Serverless and Glue have no stand-in: requests are checked by botocore's shapes."""

from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from penstock.errors import InvalidInput
from penstock.spark.running.submission import Submission, cluster_kind, emr_request, glue_requests, spark_submit

_ROLE = "arn:aws:iam::123456789012:role/penstock"


def _submission(master: str, *arguments: str) -> Submission:
    return Submission(
        name="orders",
        master=master,
        archive="s3://b/p/bundle.tar.gz",
        script="s3://b/p/driver.py",
        jars=["s3://b/p/one.jar", "s3://b/p/two.jar"],
        arguments=arguments,
        configuration={"spark.executor.instances": "2", "spark.app.label": "two words"},
    )


def _valid(service: str, operation: str, request: dict[str, Any]) -> None:
    model = botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape
    assert model is not None
    validate_parameters({"clientToken": "t", **request} if service == "emr-serverless" else request, model)


def test_spark_submit_gets_the_archive_under_the_scripts_name() -> None:
    command = spark_submit(_submission("k8s://https://k:6443", "--once"))
    assert command[:4] == ["--master", "k8s://https://k:6443", "--deploy-mode", "cluster"]
    assert command[command.index("--archives") + 1] == "s3://b/p/bundle.tar.gz#penstock_bundle"
    assert command[command.index("--jars") + 1] == "s3://b/p/one.jar,s3://b/p/two.jar"
    assert command[-2:] == ["s3://b/p/driver.py", "--once"]
    assert "spark.app.label=two words" in command


def test_emr_serverless_streams_and_runs_once_as_a_batch() -> None:
    request = emr_request(_submission("emr-serverless://00f1"), role=_ROLE)
    _valid("emr-serverless", "StartJobRun", request)
    assert (request["applicationId"], request["mode"]) == ("00f1", "STREAMING")
    parameters = request["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"]
    assert "--conf spark.archives=s3://b/p/bundle.tar.gz#penstock_bundle" in parameters.replace("'", "")
    assert "'spark.app.label=two words'" in parameters
    assert emr_request(_submission("emr-serverless://00f1", "--once"), role=_ROLE)["mode"] == "BATCH"


def test_glue_gets_a_job_of_its_streaming_kind() -> None:
    job, start = glue_requests(_submission("glue://orders", "--resume-from-ledger"), role=_ROLE, version="5.1")
    _valid("glue", "CreateJob", job)
    _valid("glue", "StartJobRun", start)
    assert (job["Name"], job["Command"]["Name"]) == ("orders", "gluestreaming")
    assert job["DefaultArguments"]["--conf"].startswith("spark.executor.instances=2 --conf spark.app.label=")
    assert start["Arguments"] == {"--resume-from-ledger": "true"}


@pytest.mark.parametrize(
    ("master", "kind"),
    [("yarn", "yarn"), ("k8s://https://k", "kubernetes"), ("emr-serverless://a", "emr-serverless"), ("glue://j", "glue")],
)
def test_masters_that_run_drivers(master: str, kind: str) -> None:
    assert cluster_kind(master) == kind


@pytest.mark.parametrize("master", ["spark://h:7077", "local[2]"])
def test_a_master_without_python_drivers_points_to_run(master: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cluster_kind(master)
    assert f"Use penstock run --master {master}." in str(caught.value)


@pytest.mark.parametrize("master", ["mesos://h", "glue://", "yarn-cluster"])
def test_an_unknown_master_lists_the_known_ones(master: str) -> None:
    with pytest.raises(InvalidInput, match="emr-serverless://APPLICATION-ID"):
        cluster_kind(master)
