"""Glue's operations on jobs."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, paged, wanted
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import NotFound
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
_COMMAND = ("Name", "ScriptLocation", "PythonVersion")


def operations(service: JobService) -> OperationSet:
    """Return every operation of Glue on jobs that ``service`` answers."""
    return OperationSet(service="glue", handlers={**_writers(service), **_readers(service)})


def _writers(service: JobService) -> dict[str, Handler]:
    def create(request: Request, _context: RequestContext) -> Response:
        service.create(request["Name"], _settings(request), request.get("Tags") or {})
        return {"Name": request["Name"]}

    def update(request: Request, _context: RequestContext) -> Response:
        service.update(request["JobName"], _settings(request["JobUpdate"]))
        return {"JobName": request["JobName"]}

    def delete(request: Request, _context: RequestContext) -> Response:
        service.delete(request["JobName"])
        return {"JobName": request["JobName"]}

    return {"CreateJob": create, "UpdateJob": update, "DeleteJob": delete}


def _readers(service: JobService) -> dict[str, Handler]:
    def get(request: Request, _context: RequestContext) -> Response:
        return {"Job": _shape(service.get(request["JobName"]))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, Jobs=[_shape(item) for item in page.items])

    def names(request: Request, _context: RequestContext) -> Response:
        tags = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, JobNames=[item.name for item in page.items if tags <= dict(item.tags).items()])

    def get_several(request: Request, _context: RequestContext) -> Response:
        shapes: list[Mapping[str, Any]] = []
        missing: list[str] = []
        for name in dict.fromkeys(request["JobNames"]):
            try:
                shapes.append(_shape(service.get(name)))
            except NotFound:
                missing.append(name)
        return {"Jobs": shapes, "JobsNotFound": missing}

    return {"GetJob": get, "GetJobs": get_all, "ListJobs": names, "BatchGetJobs": get_several}


def _settings(request: Request) -> Mapping[str, Any]:
    settings = wanted(request, _SETTINGS)
    for member, names in (("Command", _COMMAND), ("ExecutionProperty", ("MaxConcurrentRuns",))):
        if member in settings:
            settings[member] = wanted(settings[member], names)
    for member, name in (("Connections", "Connections"), ("NotificationProperty", "NotifyDelayAfter")):
        if member in settings:
            settings[member] = present(**{name: settings[member].get(name)})
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
