"""``penstock jobs``: jobs and their runs by Glue's API, here or at AWS."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from penstock.cli.jobs.following import follow_log, wait_for_end
from penstock.client.connection import open_client, translated_errors
from penstock.errors import DataProblem, InvalidInput, NotFound

__all__ = ["command"]

_PAGE = 200
_TIME = "%Y-%m-%d %H:%M:%S"


@click.group("jobs")
def command() -> None:
    """Create jobs, start them, and read their logs, by Glue's API."""


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
arguments_argument = click.argument("arguments", metavar="[--NAME VALUE]...", nargs=-1, type=click.UNPROCESSED)


@command.command("create", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--role", required=True, help="Name or ARN of the role whose rights the job has.")
@click.option("--kind", type=click.Choice(["glueetl", "gluestreaming", "pythonshell"]), default="glueetl", show_default=True)
@click.option("--upload", metavar="s3://BUCKET/PREFIX", help="Copy SCRIPT, a file of this machine, there first.")
@click.option("--worker-type", help="Such as G.1X.")
@click.option("--workers", type=click.IntRange(1), help="Number of workers.")
@click.option("--max-retries", type=click.IntRange(0, 10), default=0, show_default=True)
@click.option("--max-concurrent-runs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--timeout", type=click.IntRange(1), metavar="MINUTES", help="End a run that takes longer.")
@click.option("--glue-version", default="5.0", show_default=True)
@click.option("--replace", is_flag=True, help="Replace the settings of a job that exists.")
@click.argument("name")
@click.argument("script", metavar="SCRIPT")
@arguments_argument
def create_command(
    *,
    name: str,
    script: str,
    role: str,
    kind: str,
    upload: str | None,
    replace: bool,
    arguments: Sequence[str],
    **capacity: Any,
) -> None:
    """Create job NAME from SCRIPT, an s3:// location or a file, with default arguments after it."""
    location = _uploaded(Path(script), upload) if upload else _location(script)
    settings: dict[str, Any] = {
        "Role": role,
        "Command": {"Name": kind, "ScriptLocation": location, "PythonVersion": "3.9" if kind == "pythonshell" else "3"},
        "DefaultArguments": _pairs(arguments),
        "MaxRetries": capacity["max_retries"],
        "ExecutionProperty": {"MaxConcurrentRuns": capacity["max_concurrent_runs"]},
        "GlueVersion": capacity["glue_version"],
    }
    members = {"Timeout": "timeout", "WorkerType": "worker_type", "NumberOfWorkers": "workers"}
    settings |= {member: capacity[option] for member, option in members.items() if capacity[option] is not None}
    if replace and name in _names():
        _ask("update_job", f"job {name}", JobName=name, JobUpdate=settings)
        click.echo(f"Job {name} is changed.")
        return
    _ask("create_job", f"job {name}", Name=name, **settings)
    click.echo(f"Job {name} is created.")


@command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List the jobs."""
    jobs = _all("get_jobs", "Jobs", "the jobs")
    rows = [(job["Name"], job["Command"].get("Name", ""), job["Command"].get("ScriptLocation", "")) for job in jobs]
    _table(("JOB", "KIND", "SCRIPT"), rows, jobs if as_json else None)


@command.command("show")
@click.argument("name")
def show_command(*, name: str) -> None:
    """Show the settings of job NAME as JSON."""
    click.echo(_json(_ask("get_job", f"job {name}", JobName=name)["Job"]))


@command.command("delete")
@click.argument("name")
def delete_command(*, name: str) -> None:
    """Delete job NAME with its runs."""
    _ask("get_job", f"job {name}", JobName=name)
    _ask("delete_job", f"job {name}", JobName=name)
    click.echo(f"Job {name} is deleted.")


@command.command("start", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--wait", is_flag=True, help="Show the run's output until it ends; the exit status is 0 if it succeeded.")
@click.argument("name")
@arguments_argument
def start_command(*, name: str, wait: bool, arguments: Sequence[str]) -> None:
    """Start a run of job NAME, with arguments after it; print the run's id."""
    run_id = _ask("start_job_run", f"job {name}", JobName=name, Arguments=_pairs(arguments))["JobRunId"]
    click.echo(run_id)
    if wait:
        run = wait_for_end(open_client("glue"), open_client("logs"), name, run_id)
        click.echo(f"{run['JobRunState']} after {run.get('ExecutionTime', 0)} s", err=True)
        if run["JobRunState"] != "SUCCEEDED":
            cause = run.get("ErrorMessage") or f"it is {run['JobRunState']}"
            raise DataProblem(f"Run {run_id} of job {name} did not succeed: {cause}")


@command.command("stop")
@click.argument("name")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
def stop_command(*, name: str, run_ids: Sequence[str]) -> None:
    """Stop runs of job NAME."""
    answer = _ask("batch_stop_job_run", f"job {name}", JobName=name, JobRunIds=list(run_ids))
    for successful_submission in answer.get("SuccessfulSubmissions", ()):
        click.echo(f"{successful_submission['JobRunId']} is being stopped.")
    if answer.get("Errors"):
        raise InvalidInput(" ".join(error["ErrorDetail"]["ErrorMessage"] for error in answer["Errors"]))


@command.command("runs")
@click.argument("name")
@click.option("--count", type=click.IntRange(1, _PAGE), default=20, show_default=True)
@json_option
def runs_command(*, name: str, count: int, as_json: bool) -> None:
    """List the latest runs of job NAME, newest first."""
    runs = _ask("get_job_runs", f"job {name}", JobName=name, MaxResults=count)["JobRuns"]
    rows = [
        (run["Id"], run["JobRunState"], _time(run["StartedOn"]), run["ExecutionTime"], run.get("ErrorMessage", ""))
        for run in runs
    ]
    _table(("RUN", "STATE", "STARTED", "SECONDS", "ERROR"), rows, runs if as_json else None)


@command.command("logs")
@click.argument("name")
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--error", is_flag=True, help="Standard error instead of standard output.")
@click.option("--follow", is_flag=True, help="Go on until the run ends.")
def logs_command(*, name: str, run_id: str | None, error: bool, follow: bool) -> None:
    """Print the output of a run of job NAME, the latest one if none is given."""
    if run_id is None:
        runs = _ask("get_job_runs", f"job {name}", JobName=name, MaxResults=1)["JobRuns"]
        if not runs:
            raise InvalidInput(f"Job {name} has no run.", remedy=f"Start it: penstock jobs start {name}.")
        run_id = str(runs[0]["Id"])
    stream = "error" if error else "output"
    follow_log(open_client("glue"), open_client("logs"), name, run_id, stream=stream, follow=follow)


@command.group("bookmarks")
def bookmarks() -> None:
    """Show or reset what the runs of a job have read."""


@bookmarks.command("show")
@click.argument("name")
def bookmarks_show(*, name: str) -> None:
    """Show the bookmark of job NAME as JSON."""
    entry = _ask("get_job_bookmark", f"the bookmark of job {name}", JobName=name)["JobBookmarkEntry"]
    click.echo(_json(entry))


@bookmarks.command("reset")
@click.argument("name")
@click.option("--run", "run_id", metavar="RUN", help="Go back to what this run had committed, instead of to the beginning.")
def bookmarks_reset(*, name: str, run_id: str | None) -> None:
    """Let the next run of job NAME read everything again."""
    run = {"RunId": run_id} if run_id else {}
    _ask("reset_job_bookmark", f"the bookmark of job {name}", JobName=name, **run)
    click.echo(f"The bookmark of job {name} is reset.")


def _ask(operation: str, what: str, **request: Any) -> Mapping[str, Any]:
    client = open_client("glue")
    try:
        with translated_errors(client, what):
            answer: Mapping[str, Any] = getattr(client, operation)(**request)
    except NotFound as error:
        remedy = error.remedy or "'penstock jobs list' shows the jobs, and 'penstock jobs runs JOB' the runs of one."
        raise NotFound(error.message, remedy=remedy) from error
    return answer


def _all(operation: str, member: str, what: str) -> list[Any]:
    client = open_client("glue")
    with translated_errors(client, what):
        return [entry for page in client.get_paginator(operation).paginate() for entry in page[member]]


def _names() -> set[str]:
    return {job["Name"] for job in _all("get_jobs", "Jobs", "the jobs")}


def _location(script: str) -> str:
    if script.startswith(("s3://", "s3a://")):
        return script
    if not Path(script).is_file():
        raise InvalidInput(f"The script {script} does not exist.", remedy="Give a file, or an s3:// location.")
    return str(Path(script).absolute())


def _uploaded(script: Path, prefix: str) -> str:
    _location(str(script))
    bucket, _, key = prefix.removeprefix("s3://").rstrip("/").partition("/")
    key = f"{key}/{script.name}" if key else script.name
    client = open_client("s3")
    with translated_errors(client, prefix):
        client.upload_file(str(script), bucket, key)
    return f"s3://{bucket}/{key}"


def _pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Return ``--NAME VALUE``, ``--NAME=VALUE`` and a lone ``--NAME`` as Glue's arguments."""
    pairs: dict[str, str] = {}
    name: str | None = None
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            pairs[name] = value
            name = None if equals else name
        elif name is None:
            raise InvalidInput(f"'{argument}' is not an argument of a job.", remedy="Write --NAME VALUE.")
        else:
            pairs[name], name = argument, None
    return pairs


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], shapes: Sequence[Any] | None) -> None:
    if shapes is not None:
        click.echo(_json(shapes))
        return
    lines = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _json(value: Any) -> str:
    return json.dumps(
        value, indent=2, default=lambda moment: moment.isoformat() if isinstance(moment, datetime) else str(moment)
    )


def _time(moment: datetime) -> str:
    return moment.astimezone().strftime(_TIME)
