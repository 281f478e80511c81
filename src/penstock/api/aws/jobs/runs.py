"""Glue's operations on the runs of jobs."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.jobs.shapes import PAGE, check_author, chosen
from penstock.api.aws.protocol.handlers import call, member, paged, under
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import PenstockError
from penstock.jobs.bookmarks import Bookmark, BookmarkService
from penstock.jobs.model import JobRun
from penstock.jobs.runs import RunRequest, RunService

__all__ = ["LOG_GROUP", "operations", "run_settings", "run_shape"]

LOG_GROUP = "/aws-glue/jobs"
"""The log group of runs: their standard output is in ``/aws-glue/jobs/output``, standard error in ``.../error``."""
_SETTINGS = (
    *("JobRunQueuingEnabled", "AllocatedCapacity", "Timeout", "MaxCapacity", "SecurityConfiguration"),
    *("NotificationProperty", "WorkerType", "NumberOfWorkers", "ExecutionClass"),
)
_SHOWN = (
    *("JobMode", "JobRunQueuingEnabled", "AllocatedCapacity", "Timeout", "MaxCapacity", "WorkerType", "NumberOfWorkers"),
    *("SecurityConfiguration", "NotificationProperty", "GlueVersion", "ExecutionClass"),
)


def operations(service: RunService, bookmarks: BookmarkService) -> OperationSet:
    """Return every operation of Glue on runs and bookmarks."""
    return OperationSet(service="glue", handlers={**_runs(service), **_bookmarks(bookmarks)})


def _runs(service: RunService) -> dict[str, Handler]:
    def start(request: Request, context: RequestContext) -> Response:
        run_request = RunRequest(settings=run_settings(request), arguments=request.get("Arguments") or {})
        earlier = request.get("JobRunId")
        job = request["JobName"]
        check_author(context, job, service.code_arguments(job, run_request, earlier=earlier))
        run = service.retry(job, earlier, run_request) if earlier else service.start(job, run_request)
        return {"JobRunId": run.id}

    def get(request: Request, _context: RequestContext) -> Response:
        predecessors = bool(request.get("PredecessorsIncluded"))
        return {"JobRun": run_shape(service.get(request["JobName"], request["RunId"]), predecessors=predecessors)}

    def get_all(request: Request, _context: RequestContext) -> Response:
        limit = request.get("MaxResults") or PAGE
        page = service.page(request["JobName"], limit=limit, token=request.get("NextToken"))
        return paged(page, JobRuns=[run_shape(run) for run in page.items])

    def stop(request: Request, _context: RequestContext) -> Response:
        job = request["JobName"]
        stopped: list[Mapping[str, Any]] = []
        errors: list[Mapping[str, Any]] = []
        for run_id in dict.fromkeys(request["JobRunIds"]):
            try:
                service.stop(job, run_id)
                stopped.append({"JobName": job, "JobRunId": run_id})
            except PenstockError as error:
                errors.append({"JobName": job, "JobRunId": run_id, "ErrorDetail": error_detail(error)})
        return {"SuccessfulSubmissions": stopped, "Errors": errors}

    return {"StartJobRun": start, "GetJobRun": get, "GetJobRuns": get_all, "BatchStopJobRun": stop}


def _bookmarks(service: BookmarkService) -> dict[str, Handler]:
    run, entry = member("RunId", default=None), under("JobBookmarkEntry", _entry)
    return {
        "GetJobBookmark": call(service.get, "JobName", run, answer=entry),
        "ResetJobBookmark": call(service.reset, "JobName", run, answer=entry),
    }


def run_settings(request: Request) -> Mapping[str, Any]:
    """Return the settings that a request of StartJobRun, or a trigger's action, changes for a run."""
    settings = chosen(request, _SETTINGS)
    if "NotificationProperty" in settings:
        settings["NotificationProperty"] = chosen(settings["NotificationProperty"], ("NotifyDelayAfter",))
    return settings


def run_shape(run: JobRun, *, predecessors: bool = False) -> Mapping[str, Any]:
    """Return Glue's JobRun."""
    before = [dict(zip(("JobName", "RunId"), predecessor.rsplit("/", 1), strict=True)) for predecessor in run.predecessors]
    return present(
        **{"JobMode": "SCRIPT"} | chosen(run.settings, _SHOWN),
        Id=run.id,
        Attempt=run.attempt,
        PreviousRunId=run.previous,
        TriggerName=run.trigger,
        JobName=run.job,
        StartedOn=run.started,
        LastModifiedOn=run.modified,
        CompletedOn=run.completed,
        JobRunState=run.state,
        Arguments=dict(run.arguments) or None,
        ErrorMessage=run.error,
        PredecessorRuns=before if predecessors else None,
        ExecutionTime=run.seconds,
        LogGroupName=LOG_GROUP,
    )


def _entry(bookmark: Bookmark) -> Mapping[str, Any]:
    return present(
        JobName=bookmark.job,
        Version=bookmark.version,
        Run=bookmark.run,
        Attempt=bookmark.attempt,
        PreviousRunId=bookmark.previous_run_id,
        RunId=bookmark.run_id,
        JobBookmark=bookmark.document,
    )
