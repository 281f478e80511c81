"""Forgets what ended long ago: runs of jobs and workflows, and sessions with their statements.

Source: Glue API reference, "GetJobRun": the history of workflows and job runs is accessible for 365 days. Of sessions it
says nothing: they are kept as long.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from penstock.jobs.model import JOBS, RUNS, JobRun
from penstock.jobs.sessions import SESSIONS, STATEMENTS, session_run
from penstock.jobs.store import Entry, JobStore, Kind, all_entries
from penstock.jobs.triggers import WORKFLOWS
from penstock.jobs.workflows import WORKFLOW_RUNS

__all__ = ["KEPT", "forget_old"]

KEPT = timedelta(days=365)

T = TypeVar("T", bound=Entry)


def forget_old(store: JobStore, before: datetime) -> None:
    """Delete what ended before a time. The logs of runs follow, each on its machine."""
    for job in all_entries(store, JOBS):
        _forget(store, RUNS, job.name, _end, before)
    for workflow in all_entries(store, WORKFLOWS):
        _forget(store, WORKFLOW_RUNS, workflow.name, lambda run: run.completed, before)
    for session in all_entries(store, SESSIONS):
        if session.created >= before:
            continue
        run = store.get(RUNS, session_run(session.id))
        end = _end(run) if run is not None else session.created
        if end is not None and end < before:
            # In this order: what is left by a server that is killed meanwhile is found again.
            store.delete_scope(STATEMENTS, session.id)
            store.delete(RUNS, session_run(session.id))
            store.delete(SESSIONS, session.id)


def _end(run: JobRun) -> datetime | None:
    return (run.completed or run.modified) if run.handled else None


def _forget(store: JobStore, kind: Kind[T], scope: str, end: Callable[[T], datetime | None], before: datetime) -> None:
    """Delete the entries of a scope, which are in the order of their start, that ended before a time."""
    started_since = before.isoformat(timespec="microseconds")
    for entry in all_entries(store, kind, scope):
        if entry.rank > started_since:
            return
        ended = end(entry)
        if ended is not None and ended < before:
            store.delete(kind, entry.key)
