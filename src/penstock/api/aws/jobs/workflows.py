"""Glue's operations on workflows and their runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.jobs.runs import run_shape
from penstock.api.aws.jobs.shapes import PAGE, chosen
from penstock.api.aws.jobs.triggers import trigger_shape
from penstock.api.aws.protocol.handlers import call, listing, member, paged, under
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import NotFound
from penstock.jobs.model import JobRun
from penstock.jobs.store import JobStore
from penstock.jobs.triggers import Trigger, action_node
from penstock.jobs.workflows import Workflow, WorkflowRun, WorkflowService
from penstock.runs.firing import action_run_id, last_attempt

__all__ = ["operations"]

_COUNTED = {
    "SUCCEEDED": "SucceededActions",
    "FAILED": "FailedActions",
    "TIMEOUT": "TimeoutActions",
    "STOPPED": "StoppedActions",
    "ERROR": "ErroredActions",
    "WAITING": "WaitingActions",
}


def operations(service: WorkflowService, store: JobStore) -> OperationSet:
    """Return every operation of Glue on workflows; ``store`` has the runs of their jobs."""
    handlers = {**_definitions(service, store), **_runs(service, store)}
    return OperationSet(service="glue", handlers=handlers)


def _definitions(service: WorkflowService, store: JobStore) -> dict[str, Handler]:
    def get(request: Request, _context: RequestContext) -> Response:
        graph = bool(request.get("IncludeGraph"))
        return {"Workflow": _shape(service.get(request["Name"]), service, store, graph=graph)}

    def get_several(request: Request, _context: RequestContext) -> Response:
        workflows: list[Mapping[str, Any]] = []
        missing: list[str] = []
        graph = bool(request.get("IncludeGraph"))
        for name in dict.fromkeys(request["Names"]):
            try:
                workflows.append(_shape(service.get(name), service, store, graph=graph))
            except NotFound:
                missing.append(name)
        return {"Workflows": workflows, "MissingWorkflows": missing}

    return {
        "CreateWorkflow": call(service.create, "Name", _settings, member("Tags", default={}), echo="Name"),
        "UpdateWorkflow": call(service.update, "Name", _settings, echo="Name"),
        "DeleteWorkflow": call(service.delete, "Name", echo="Name"),
        "GetWorkflow": get,
        "ListWorkflows": listing("Workflows", lambda workflow: workflow.name, service.page),
        "BatchGetWorkflows": get_several,
    }


def _settings(request: Request, _context: RequestContext) -> Mapping[str, Any]:
    return chosen(request, ("Description", "DefaultRunProperties", "MaxConcurrentRuns"))


def _runs(service: WorkflowService, store: JobStore) -> dict[str, Handler]:
    def resume(request: Request, _context: RequestContext) -> Response:
        run, nodes = service.resume(request["Name"], request["RunId"], request["NodeIds"])
        return {"RunId": run.id, "NodeIds": nodes}

    def get(request: Request, _context: RequestContext) -> Response:
        graph = bool(request.get("IncludeGraph"))
        run = service.run(request["Name"], request["RunId"])
        return {"Run": _run_shape(run, service.triggers(run.workflow), store, graph=graph)}

    def get_all(request: Request, _context: RequestContext) -> Response:
        graph, limit = bool(request.get("IncludeGraph")), request.get("MaxResults") or PAGE
        page = service.runs(request["Name"], limit=limit, token=request.get("NextToken"))
        triggers = service.triggers(request["Name"])
        return paged(page, Runs=[_run_shape(run, triggers, store, graph=graph) for run in page.items])

    return {
        "StartWorkflowRun": call(
            service.start, "Name", member("RunProperties", default={}), answer=under("RunId", lambda run: run.id)
        ),
        "ResumeWorkflowRun": resume,
        "StopWorkflowRun": call(service.stop, "Name", "RunId"),
        "GetWorkflowRun": get,
        "GetWorkflowRuns": get_all,
        "GetWorkflowRunProperties": call(
            service.run, "Name", "RunId", answer=under("RunProperties", lambda run: run.properties)
        ),
        "PutWorkflowRunProperties": call(service.put_properties, "Name", "RunId", "RunProperties"),
    }


def _shape(workflow: Workflow, service: WorkflowService, store: JobStore, *, graph: bool) -> Mapping[str, Any]:
    triggers, last = service.triggers(workflow.name), service.last_run(workflow.name)
    return present(
        **workflow.settings,
        Name=workflow.name,
        CreatedOn=workflow.created,
        LastModifiedOn=workflow.modified,
        LastRun=_run_shape(last, triggers, store, graph=graph) if last is not None else None,
        Graph=_graph(triggers, {}) if graph else None,
    )


def _run_shape(run: WorkflowRun, triggers: Sequence[Trigger], store: JobStore, *, graph: bool) -> Mapping[str, Any]:
    job_runs = _job_runs(run, triggers, store)
    return present(
        Name=run.workflow,
        WorkflowRunId=run.id,
        PreviousRunId=run.previous,
        WorkflowRunProperties=dict(run.properties),
        StartedOn=run.started,
        CompletedOn=run.completed,
        Status=run.status,
        ErrorMessage=run.error,
        Statistics=_statistics(run, job_runs),
        Graph=_graph(triggers, job_runs) if graph else None,
    )


def _job_runs(run: WorkflowRun, triggers: Sequence[Trigger], store: JobStore) -> Mapping[str, JobRun]:
    """Return the latest attempts of a workflow's job runs, by job."""
    job_runs: dict[str, JobRun] = {}
    for trigger in triggers:
        for number in range(len(trigger.actions)):
            started = last_attempt(store, action_run_id(trigger.name, run.id, number))
            if started is not None:
                job_runs[started.job] = started
    return job_runs


def _statistics(run: WorkflowRun, job_runs: Mapping[str, JobRun]) -> Mapping[str, int]:
    counts = Counter(_COUNTED.get(job_run.state, "RunningActions") for job_run in job_runs.values())
    counts["ErroredActions"] += len(run.failed)
    names = {*_COUNTED.values(), "RunningActions"}
    return {"TotalActions": sum(counts.values()) + len(run.crawls), **{name: counts[name] for name in names}}


def _graph(triggers: Sequence[Trigger], runs: Mapping[str, JobRun]) -> Mapping[str, Any]:
    """Return the nodes of a workflow, its triggers, jobs and crawlers, and the edges between them."""
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    edges: list[Mapping[str, str]] = []

    def node(node_type: str, name: str, unique: str, **details: Any) -> str:
        nodes.setdefault((node_type, name), {"Type": node_type, "Name": name, "UniqueId": unique, **details})
        return unique

    def worker(shape: Mapping[str, Any]) -> str:
        unique = action_node(shape)
        if shape.get("CrawlerName"):
            return node("CRAWLER", shape["CrawlerName"], unique)
        name = shape["JobName"]
        return node("JOB", name, unique, JobDetails={"JobRuns": [run_shape(runs[name])] if name in runs else []})

    for trigger in triggers:
        details = {"Trigger": trigger_shape(trigger)}
        own = node("TRIGGER", trigger.name, f"wnode_trigger_{trigger.name}", TriggerDetails=details)
        edges += [{"SourceId": worker(condition), "DestinationId": own} for condition in trigger.conditions]
        edges += [{"SourceId": own, "DestinationId": worker(action)} for action in trigger.actions]
    return {"Nodes": list(nodes.values()), "Edges": edges}
