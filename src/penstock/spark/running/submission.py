"""How a pipeline is handed to a cluster: the command of spark-submit, and the requests of EMR Serverless and Glue.

Pure functions over the places of the artefacts. References: https://spark.apache.org/docs/latest/submitting-applications.html,
https://docs.aws.amazon.com/emr-serverless/latest/APIReference/API_StartJobRun.html,
https://docs.aws.amazon.com/glue/latest/webapi/API_CreateJob.html.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.errors import InvalidInput
from penstock.spark.running.bundle import FOLDER

__all__ = ["ClusterKind", "Submission", "cluster_kind", "driver_environment", "emr_request", "glue_requests", "spark_submit"]

_DRIVER_ENVIRONMENT = "spark.penstock.driverEnv."
ClusterKind = Literal["kubernetes", "yarn", "emr-serverless", "glue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A pipeline for a cluster. ``archive``, ``script`` and ``jars`` are paths, or URIs that the cluster reads.

    ``arguments`` are those of the driver's script; ``configuration`` are Spark's settings.
    """

    name: str
    master: str
    archive: str
    script: str
    jars: Sequence[str]
    arguments: Sequence[str] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """Return what follows the scheme of ``master``: EMR's application, Glue's job."""
        return self.master.partition("://")[2]


def cluster_kind(master: str) -> ClusterKind:
    """Return the kind of cluster that ``master`` names. Raises :class:`InvalidInput` if none of it runs drivers."""
    scheme, separator, rest = master.partition("://")
    if master == "yarn":
        return "yarn"
    if separator and rest and scheme in {"k8s", "emr-serverless", "glue"}:
        return "kubernetes" if scheme == "k8s" else scheme  # type: ignore[return-value]
    if scheme == "spark" or master.startswith("local"):
        raise InvalidInput(
            f"The master {master} runs no Python driver in the cluster.", remedy=f"Use penstock run --master {master}."
        )
    raise InvalidInput(
        f"The master '{master}' is not known.",
        remedy="Use yarn, k8s://HTTPS-URL, emr-serverless://APPLICATION-ID or glue://JOB-NAME.",
    )


def spark_submit(submission: Submission, secrets: str | None = None) -> list[str]:
    """Return the arguments of spark-submit, for YARN and Kubernetes, the driver in the cluster.

    ``secrets`` is a file of further settings, which no command line shows; those of conf/spark-defaults.conf hold beside.
    """
    options = ["--master", submission.master, "--deploy-mode", "cluster", "--name", f"penstock {submission.name}"]
    options += ["--archives", f"{submission.archive}#{FOLDER}", "--jars", ",".join(submission.jars)]
    options += ["--properties-file", secrets, "--load-spark-defaults"] if secrets else []
    settings = [part for key, value in submission.configuration.items() for part in ("--conf", f"{key}={value}")]
    return [*options, *settings, submission.script, *submission.arguments]


def driver_environment(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that settings ``spark.penstock.driverEnv.NAME`` have for the pipeline.

    Spark's own settings of this kind are in the script that starts a container; these are in its settings alone, and
    Spark's event log leaves out the values of those whose NAME tells a secret.
    """
    return {
        key.removeprefix(_DRIVER_ENVIRONMENT): value
        for key, value in configuration.items()
        if key.startswith(_DRIVER_ENVIRONMENT)
    }


def emr_request(submission: Submission, *, role: str) -> dict[str, Any]:
    """Return the request of EMR Serverless's StartJobRun, in its streaming mode, which starts a failed run again."""
    settings = {
        **submission.configuration,
        "spark.archives": f"{submission.archive}#{FOLDER}",
        "spark.jars": ",".join(submission.jars),
    }
    parameters = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
    once = "--once" in submission.arguments
    return {
        "applicationId": submission.target,
        "executionRoleArn": role,
        "name": f"penstock-{submission.name}",
        "mode": "BATCH" if once else "STREAMING",
        "jobDriver": {
            "sparkSubmit": {
                "entryPoint": submission.script,
                "entryPointArguments": list(submission.arguments),
                "sparkSubmitParameters": parameters,
            }
        },
    }


def glue_requests(submission: Submission, *, role: str, version: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the requests of Glue's CreateJob and StartJobRun. ``version`` is Glue's, which has its own Spark."""
    settings = {**submission.configuration, "spark.archives": f"{submission.archive}#{FOLDER}"}
    # Glue takes one --conf, in which further ones follow.
    conf = " --conf ".join(f"{key}={value}" for key, value in settings.items())
    once = "--once" in submission.arguments
    job = {
        "Name": submission.target,
        "Role": role,
        "Command": {
            "Name": "glueetl" if once else "gluestreaming",
            "ScriptLocation": submission.script,
            "PythonVersion": "3",
        },
        "GlueVersion": version,
        "DefaultArguments": {"--extra-jars": ",".join(submission.jars), "--conf": conf},
    }
    flags = dict.fromkeys(submission.arguments, "true")
    return job, {"JobName": submission.target, "Arguments": flags} if flags else {"JobName": submission.target}
