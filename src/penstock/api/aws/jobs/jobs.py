"""Glue's operations on jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, chosen
from penstock.api.aws.protocol.handlers import batch_get, call, listing, member, paged, under
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.jobs.definitions import JobService
from penstock.jobs.model import Job

__all__ = ["operations"]

# Of JobUpdate and CreateJob alike; the checkers have removed what is not served.
_SETTINGS = (
    *("JobMode", "JobRunQueuingEnabled", "Description", "LogUri", "Role", "ExecutionProperty", "Command"),
    *("DefaultArguments", "NonOverridableArguments", "Connections", "MaxRetries", "AllocatedCapacity", "Timeout"),
    *("MaxCapacity", "SecurityConfiguration", "NotificationProperty", "GlueVersion", "NumberOfWorkers", "WorkerType"),
    *("ExecutionClass",),
)
# Members of the structures among them.
_PARTS: Mapping[str, Sequence[str]] = {
    "Command": ("Name", "ScriptLocation", "PythonVersion"),
    "ExecutionProperty": ("MaxConcurrentRuns",),
    "Connections": ("Connections",),
    "NotificationProperty": ("NotifyDelayAfter",),
}


def operations(service: JobService) -> OperationSet:
    """Return every operation of Glue on jobs that ``service`` answers."""

    def create(request: Request, _context: RequestContext) -> Response:
        service.create(request["Name"], _settings(request), request.get("Tags") or {})
        return {"Name": request["Name"]}

    def names(request: Request, _context: RequestContext) -> Response:
        tags = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, JobNames=[job.name for job in page.items if tags <= dict(job.tags).items()])

    handlers = {
        "CreateJob": create,
        "UpdateJob": call(service.update, "JobName", member("JobUpdate", _settings), echo="JobName"),
        "DeleteJob": call(service.delete, "JobName", echo="JobName"),
        "GetJob": call(service.get, "JobName", answer=under("Job", _shape)),
        "GetJobs": listing("Jobs", _shape, service.page),
        "ListJobs": names,
        "BatchGetJobs": batch_get("Jobs", _shape, service.get, "JobNames", missing="JobsNotFound"),
    }
    return OperationSet(service="glue", handlers=handlers)


def _settings(request: Request) -> Mapping[str, Any]:
    settings = chosen(request, _SETTINGS)
    for name, members in _PARTS.items():
        if name in settings:
            settings[name] = chosen(settings[name], members)
    return settings


def _shape(job: Job) -> Mapping[str, Any]:
    settings = job.settings
    return {
        "MaxRetries": 0,
        "ExecutionProperty": {"MaxConcurrentRuns": job.concurrent},
        "JobMode": "SCRIPT",
        "JobRunQueuingEnabled": False,
        **settings,
        "Command": {"Name": job.kind, **settings["Command"]},
        "Name": job.name,
        "CreatedOn": job.created,
        "LastModifiedOn": job.modified,
    }
