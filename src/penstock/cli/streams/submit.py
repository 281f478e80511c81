"""``penstock submit``: hands a pipeline to a cluster that runs its driver, too."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pyspark

from penstock.cli.options import FILE
from penstock.cli.streams.spark_options import configuration_option, spark_settings
from penstock.client.connection import open_client, translated_errors
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.lake.locations import parse_uri
from penstock.local.artefacts import class_path
from penstock.pipelines import Pipeline, read_pipeline
from penstock.spark.running.bundle import write_bundle
from penstock.spark.running.submission import Submission, cluster_kind, emr_request, glue_requests, spark_submit
from penstock.spark.session import cluster_configuration, is_secret, write_private

__all__ = ["command"]


@click.command("submit")
@click.argument("pipeline_file", metavar="PIPELINE.yaml", type=FILE)
@click.option("--master", required=True, help="yarn, k8s://URL, emr-serverless://APPLICATION-ID or glue://JOB-NAME.")
@click.option(
    "--artefacts",
    required=True,
    help="Where archive, script and jars go: a folder, or s3://BUCKET/PREFIX, which EMR Serverless and Glue need.",
)
@click.option("--role", help="ARN of the role that the run has, for EMR Serverless and Glue.")
@click.option("--glue-version", default="5.1", show_default=True, help="Glue's version of the job.")
@click.option("--once", is_flag=True, help="Read the records that the source has now, then end.")
@click.option("--resume-from-ledger", is_flag=True, help="Begin a new checkpoint at the ledger's last offsets.")
@click.option("--print", "only_print", is_flag=True, help="Write the artefacts and print the calls; submit nothing.")
@configuration_option
def command(  # noqa: PLR0917 - click passes them by name
    pipeline_file: Path,
    master: str,
    artefacts: str,
    role: str | None,
    glue_version: str,
    once: bool,
    resume_from_ledger: bool,
    only_print: bool,
    configuration: tuple[str, ...],
) -> None:
    """Submit the pipeline in PIPELINE.yaml to a cluster, with everything that its driver needs."""
    pipeline = read_pipeline(pipeline_file)
    cluster = cluster_kind(master)
    of_aws = cluster in {"emr-serverless", "glue"}
    if of_aws and (role is None or not artefacts.startswith("s3://")):
        raise InvalidInput(f"{cluster} needs a role, and artefacts on S3.", remedy="Give --role and --artefacts s3://….")
    prepared = _prepared(pipeline, pipeline_file, artefacts, upload=not only_print)
    flags = [flag for flag, is_set in (("--once", once), ("--resume-from-ledger", resume_from_ledger)) if is_set]
    settings = {
        **cluster_configuration(pipeline.locations.values()),
        **spark_settings(configuration),
    }
    submission = Submission(**prepared, name=pipeline.name, master=master, arguments=flags, configuration=settings)
    if cluster == "emr-serverless":
        _call("emr-serverless", "start_job_run", emr_request(submission, role=role or ""), only_print)
    elif cluster == "glue":
        job, start = glue_requests(submission, role=role or "", version=glue_version)
        _call("glue", "create_job", job, only_print)
        _call("glue", "start_job_run", start, only_print)
    else:
        public = {key: value for key, value in settings.items() if not is_secret(key)}
        keep = Path(f"{pipeline.name}.properties").absolute() if only_print else None
        with _secrets_file({key: settings[key] for key in settings.keys() - public.keys()}, keep=keep) as secrets:
            _spark_submit(spark_submit(replace(submission, configuration=public), secrets), only_print)


@contextmanager
def _secrets_file(settings: Mapping[str, str], *, keep: Path | None) -> Iterator[str | None]:
    """Write ``settings``, which are secrets, to a file for spark-submit, whose command line every user of the machine sees.

    The file is there for the length of the block, or stays, if ``keep`` names it. None without secrets.
    """
    if not settings:
        yield None
        return
    with TemporaryDirectory(prefix="penstock-submit-") as scratch:
        file = keep or Path(scratch) / "spark.properties"
        write_private(file, settings)
        yield str(file)


def _prepared(pipeline: Pipeline, file: Path, artefacts: str, *, upload: bool) -> dict[str, Any]:
    """Write the artefacts, upload them if they belong on S3, and return their places as members of a submission."""
    remote = artefacts.startswith("s3://")
    folder = Path(f"{pipeline.name}-artefacts") if remote else Path(artefacts)
    bundle = write_bundle(folder.absolute(), file)
    jars = class_path("spark")
    files = [bundle.archive, bundle.script, *jars]
    places = {path: f"{artefacts.rstrip('/')}/{path.name}" if remote else str(path) for path in files}
    if remote and upload:
        client = open_client("s3")
        with translated_errors(client, artefacts):
            for path, place in places.items():
                uri = parse_uri(place)
                client.upload_file(str(path), uri.bucket, uri.key)
    return {
        "archive": places[bundle.archive],
        "script": places[bundle.script],
        "jars": [places[jar] for jar in jars],
    }


def _call(service: str, operation: str, request: dict[str, Any], only_print: bool) -> None:
    if only_print:
        click.echo(f"{service} {operation} {json.dumps(request, indent=2)}")
        return
    client: Any = open_client(service)
    with translated_errors(client, operation):
        answer = getattr(client, operation)(**request)
    click.echo(f"{operation}: {answer.get('jobRunId') or answer.get('JobRunId') or answer.get('Name')}")


def _spark_submit(arguments: list[str], only_print: bool) -> None:
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    if only_print:
        click.echo(shlex.join(["spark-submit", *arguments]))
        return
    environment = {name: value for name, value in os.environ.items() if name not in {"SPARK_HOME", "PYSPARK_SUBMIT_ARGS"}}
    status = subprocess.run([program, *arguments], env=environment, check=False).returncode
    if status:
        raise EnvironmentProblem(f"spark-submit ended with {status}.", remedy="Its output above says why.")
