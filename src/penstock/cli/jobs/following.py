"""Follows the log of a run, and waits for its end, by the APIs of Glue and of CloudWatch Logs."""

import time
from collections.abc import Mapping
from typing import Any

import click

from penstock.client.connection import error_code, translated_errors
from penstock.errors import NotFound

__all__ = ["ENDED", "follow_log", "wait_for_end"]

ENDED = frozenset({"STOPPED", "SUCCEEDED", "FAILED", "TIMEOUT", "ERROR", "EXPIRED"})
_PAUSE = 1.0
_GROUP = "/aws-glue/jobs"


def wait_for_end(glue: Any, logs: Any, job: str, run_id: str) -> Mapping[str, Any]:
    """Print the run's standard output until it ends, then its standard error if it failed; return the run."""
    follow_log(glue, logs, job, run_id, stream="output", follow=True)
    run = _run(glue, job, run_id)
    if run["JobRunState"] == "FAILED":
        follow_log(glue, logs, job, run_id, stream="error", follow=False)
    return run


def follow_log(glue: Any, logs: Any, job: str, run_id: str, *, stream: str, follow: bool) -> None:
    """Print a run's log; with ``follow`` until the run has ended. Raises :class:`NotFound` for a run that does not exist."""
    state = _run(glue, job, run_id)["JobRunState"]
    token: str | None = None
    while True:
        token = _print(logs, run_id, stream, token)
        if state in ENDED or not follow:
            return
        time.sleep(_PAUSE)
        # Asked before the log is read once more, so that the last lines are in it.
        state = _run(glue, job, run_id)["JobRunState"]


def _print(logs: Any, run_id: str, stream: str, token: str | None) -> str | None:
    """Print what is there behind ``token``; return the token of what follows."""
    while True:
        more = {"nextToken": token} if token else {}
        try:
            with translated_errors(logs, f"the log of run {run_id}"):
                page = logs.get_log_events(
                    logGroupName=f"{_GROUP}/{stream}", logStreamName=run_id, startFromHead=True, **more
                )
        except NotFound as error:
            # A run that has not begun has no log yet.
            if error_code(error) != "ResourceNotFoundException":
                raise
            return token
        for event in page["events"]:
            click.echo(event["message"])
        if page["nextForwardToken"] == token or not page["events"]:
            return str(page["nextForwardToken"])
        token = str(page["nextForwardToken"])


def _run(glue: Any, job: str, run_id: str) -> Mapping[str, Any]:
    with translated_errors(glue, f"run {run_id} of job {job}"):
        run: Mapping[str, Any] = glue.get_job_run(JobName=job, RunId=run_id)["JobRun"]
    return run
